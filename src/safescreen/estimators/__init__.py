"""scikit-learn estimators around `solve` and `screen`."""

from safescreen.estimators.classifier import EndedEarlyWarning, L0LogisticRegression
from safescreen.estimators.copies import CopiesWarning
from safescreen.estimators.cross_validation import L0LogisticRegressionCV
from safescreen.estimators.screener import SafeScreener

__all__ = ["CopiesWarning", "EndedEarlyWarning", "L0LogisticRegression", "L0LogisticRegressionCV", "SafeScreener"]
