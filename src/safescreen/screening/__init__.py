"""The screening rule, and the record of what it proves."""

from safescreen.screening.record import Screening, record_of
from safescreen.screening.rule import decide, flipped, flipped_free

__all__ = ["Screening", "decide", "flipped", "flipped_free", "record_of"]
