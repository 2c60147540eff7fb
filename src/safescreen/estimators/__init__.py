"""scikit-learn estimators around `solve` and `screen`."""

from safescreen.estimators.cautions import OneClassWarning, ScaleWarning
from safescreen.estimators.classifier import EndedEarlyWarning, L0LogisticRegression
from safescreen.estimators.copies import CopiesWarning
from safescreen.estimators.cross_validation import GridEdgeWarning, L0LogisticRegressionCV
from safescreen.estimators.screener import SafeScreener
from safescreen.estimators.selection import Selection

__all__ = [
    "CopiesWarning",
    "EndedEarlyWarning",
    "GridEdgeWarning",
    "L0LogisticRegression",
    "L0LogisticRegressionCV",
    "OneClassWarning",
    "SafeScreener",
    "ScaleWarning",
    "Selection",
]
