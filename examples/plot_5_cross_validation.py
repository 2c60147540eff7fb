"""
Cross-validation in a pipeline
==============================

Budget and ridge chosen by cross-validation, then the whole procedure judged by another one.
"""

# %%
# `L0LogisticRegressionCV` tries all pairs. Inside a fold, candidates share the data and start
# from each other's models.

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import safescreen as ss

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
search = ss.L0LogisticRegressionCV(k=range(1, 11), gamma=(1.0, 10.0, 100.0), cv=folds, rel_gap=1e-3)
start = time.perf_counter()
search.fit(X, y)
seconds = time.perf_counter() - start
print(search.best_params_, f"log-loss {-search.best_score_:.4f}, {seconds:.1f} s")
ss.CVDisplay.from_estimator(search)

# %%
# The smallest model within one standard error of the best.

small = ss.L0LogisticRegressionCV(
    k=range(1, 11), gamma=(1.0, 10.0, 100.0), cv=folds, rel_gap=1e-3, one_standard_error=True
).fit(X, y)
print(small.best_params_)
print(*small.feature_names_in_[small.support_], sep="\n")

# %%
# In a pipeline, as with any classifier, and judged by another cross-validation around it, which
# covers the choice of parameters, too. Skewed measurements that are always positive may do better
# on a log scale.


def logarithm(frame):
    """Logarithms; a few measurements are zero."""
    return np.log(frame + 1e-3)


inner = ss.L0LogisticRegressionCV(k=(2, 4, 8), gamma=(10.0, 100.0), cv=3, rel_gap=1e-2)
for name, first in (("as measured", "passthrough"), ("logarithms", FunctionTransformer(logarithm))):
    pipeline = make_pipeline(first, inner)
    scores = cross_validate(pipeline, X, y, cv=folds, scoring=("neg_log_loss", "accuracy"))
    loss, accuracy = -scores["test_neg_log_loss"].mean(), scores["test_accuracy"].mean()
    print(f"{name:12} log-loss {loss:.3f}, accuracy {accuracy:.3f}")
