"""The screening rule, and the record of what it proves."""

from safescreen.screening.record import Screening, record_of
from safescreen.screening.rule import decide, flipped

__all__ = ["Screening", "decide", "flipped", "record_of"]
