"""scikit-learn estimators around `solve` and `screen`."""

from safescreen.estimators.classifier import L0LogisticRegression, SafeScreener
from safescreen.estimators.cross_validation import L0LogisticRegressionCV

__all__ = ["L0LogisticRegression", "L0LogisticRegressionCV", "SafeScreener"]
