"""How much a choice of features depends on the sample: the whole procedure once more, on many resamples."""

from safescreen.stability.resampling import Resampling, run
from safescreen.stability.result import Stability

__all__ = ["Resampling", "Stability", "run"]
