"""Which other models are as good: all of them, with proof, and what they say about each feature."""

from safescreen.good_models.asking import alternatives
from safescreen.good_models.documents import answer
from safescreen.good_models.showing import Alternatives

__all__ = ["Alternatives", "alternatives", "answer"]
