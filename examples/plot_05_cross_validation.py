"""
Cross-validation in a pipeline
==============================

Size and ridges chosen by cross-validation, then the whole procedure judged by another one.
"""

# %%
# `L0LogisticRegressionCV` needs nothing but data. It tries several sizes, each with several ridges
# to choose and to estimate, and proves the final choice. The time is for everything.

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import safescreen as ss

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
start = time.perf_counter()
search = ss.L0LogisticRegressionCV(time_limit=20.0).fit(X, y)
seconds = time.perf_counter() - start
print(search.best_params_, f"log-loss {-search.best_score_:.4f}, {search.status_}, {seconds:.1f} s")
ss.CVDisplay.from_estimator(search)

# %%
# The fewest features within one standard error of the best.

small = ss.L0LogisticRegressionCV(time_limit=20.0, one_standard_error=True).fit(X, y)
print(small.best_params_)
print(*small.feature_names_in_[small.support_], sep="\n")

# %%
# An information criterion prices features on all data instead of comparing folds.

start = time.perf_counter()
quick = ss.L0LogisticRegressionCV(criterion="ebic").fit(X, y)
print(quick.best_params_, f"{time.perf_counter() - start:.1f} s")
ss.CVDisplay.from_estimator(quick)

# %%
# In a pipeline, as with any classifier, and judged by another cross-validation around it, which
# covers the choice of parameters, too. Skewed measurements that are always positive may do better
# on a log scale.


def logarithm(frame):
    """Logarithms; a few measurements are zero."""
    return np.log(frame + 1e-3)


inner = ss.L0LogisticRegressionCV(k=(4, 8), gamma=(1.0, 10.0), cv=3, time_limit=5.0)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
for name, first in (("as measured", "passthrough"), ("logarithms", FunctionTransformer(logarithm))):
    pipeline = make_pipeline(first, inner)
    scores = cross_validate(pipeline, X, y, cv=folds, scoring=("neg_log_loss", "accuracy"))
    loss, accuracy = -scores["test_neg_log_loss"].mean(), scores["test_accuracy"].mean()
    print(f"{name:12} log-loss {loss:.3f}, accuracy {accuracy:.3f}")
