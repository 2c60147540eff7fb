"""What the estimators share: scikit-learn's checks of the data, and the problem they state."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from safescreen.arrays import AnyArray, BoolArray, FloatArray, IndexArray
from safescreen.defaults import default_budget
from safescreen.estimators.checking import checked
from safescreen.estimators.labels import two_labels
from safescreen.problem import Problem
from safescreen.problem.terms import Terms
from safescreen.problem.validation import check_selection, check_weights
from safescreen.text import brief


def make_problem(estimator: Any, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> Problem:
    """Check the data as scikit-learn does, and state the estimator's problem for them."""
    X, y = checked(estimator, X, y, accept_sparse="csc")
    weights = check_weights(sample_weight, X.shape[0])
    check_binary(y, weights, estimator.positive_class)
    if estimator.class_weight is not None:
        labels, _ = two_labels(y, weights, estimator.positive_class)
        sample_weight = weights * _class_factors(estimator.class_weight, labels, weights)
    terms = {name: getattr(estimator, name) for name in Terms.names()}
    if terms["k"] is None and terms["mu"] is None:
        terms["k"] = default_budget(len(set(check_selection("include", terms["include"]))), X.shape[1])
    names = getattr(estimator, "feature_names_in_", None)
    details = {"sample_weight": sample_weight, "feature_names": names, "positive_class": estimator.positive_class}
    return Problem(X, y, **terms, **details)


def check_binary(y: AnyArray, weights: FloatArray, positive_class: Any = None) -> None:
    """Refuse more than two classes in scikit-learn's words, unless one is to be told from the rest.

    Rows of weight zero have no say.
    """
    check_classification_targets(y)
    counted = y[weights > 0.0]
    kind = type_of_target(counted, input_name="y")
    if kind != "binary" and (kind != "multiclass" or positive_class is None):
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: y has "
            f"{np.unique(counted).size} classes; for more than two, name the one to tell from the rest with "
            "positive_class=, or wrap the estimator in sklearn.multiclass.OneVsRestClassifier."
        )


def _class_factors(class_weight: Any, y: AnyArray, weights: FloatArray) -> FloatArray:
    """The factor on each sample's weight.

    Balance is about total weight rather than the number of rows, so that a weight of two still means a sample seen
    twice.
    """
    classes, codes = np.unique(y, return_inverse=True)
    factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), dtype=np.float64)
    if not (factors >= 0.0).all():
        raise ValueError(f"class_weight is {brief(class_weight)}, but weights must be numbers >= 0.")
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights=weights, minlength=classes.size)
        factors = np.divide(1.0, totals, out=np.zeros(classes.size), where=totals > 0.0)
    return factors[codes]


def mask(indices: IndexArray, size: int) -> BoolArray:
    """True at these indices."""
    result = np.zeros(size, dtype=np.bool_)
    result[indices] = True
    return result
