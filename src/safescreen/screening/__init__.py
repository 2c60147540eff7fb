"""The screening rules, of features one by one and of groups, and the record of what is proved."""

from safescreen.screening.groups import CoreFinder, importance
from safescreen.screening.record import Screening, record_of
from safescreen.screening.rule import decide, flipped, flipped_free

__all__ = ["CoreFinder", "Screening", "decide", "flipped", "flipped_free", "importance", "record_of"]
