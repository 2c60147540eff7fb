"""Pictures of proofs: displays in scikit-learn's style, for matplotlib (extra ``plot``).

A display is made by one of its ``from_...`` methods, which draws at once, or from plain arrays, to be drawn by
``plot``. Either way it keeps the figure as ``figure_`` and the axes as ``ax_`` for further changes.
"""

from safescreen.plots.convergence import ConvergenceDisplay
from safescreen.plots.cores import CoreDisplay
from safescreen.plots.cross_validation import CVDisplay
from safescreen.plots.good_models import AlternativesDisplay
from safescreen.plots.path import PathDisplay
from safescreen.plots.screening import ScreeningDisplay
from safescreen.plots.stability import StabilityDisplay

__all__ = [
    "AlternativesDisplay",
    "CVDisplay",
    "ConvergenceDisplay",
    "CoreDisplay",
    "PathDisplay",
    "ScreeningDisplay",
    "StabilityDisplay",
]
