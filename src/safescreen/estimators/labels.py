"""Labels as scikit-learn has them, two and sorted, and which of them is modelled."""

from __future__ import annotations

from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, FloatArray
from safescreen.problem import Problem
from safescreen.problem.labels import has_label, is_against_rest
from safescreen.problem.validation import check_labels


def two_labels(y: AnyArray, weights: FloatArray, positive_class: Any) -> tuple[AnyArray, Any]:
    """Labels of the two classes that are modelled, and which of them is positive; two labels stay as they are."""
    signs, classes = check_labels(y, weights, positive_class)
    if not classes.against_rest:
        return y, classes.pair[1]
    return classes.pair[(signs > 0.0).astype(np.intp)], classes.pair[1]


def adopt_classes(estimator: Any, problem: Problem) -> None:
    """Show the classes of a problem as a classifier's attributes."""
    set_classes(estimator, problem.classes, problem.positive_class)


def set_classes(estimator: Any, pair: AnyArray, positive_label: Any) -> None:
    """The negative and the positive class as a classifier's attributes.

    scikit-learn's scorers take it for granted that classes are sorted, so ``classes_`` is, whichever is positive.
    """
    estimator.classes_ = np.sort(pair)
    estimator.positive_class_ = pair[1]
    estimator._positive_label = positive_label  # as in the data


def class_pair(estimator: Any) -> AnyArray:
    """The negative and the positive class of a fitted classifier."""
    classes: AnyArray = estimator.classes_
    return classes if is_second(estimator) else classes[::-1].copy()


def is_second(estimator: Any) -> bool:
    """Whether the class that is modelled is ``classes_[1]``, of which scikit-learn wants the log-odds."""
    return bool(estimator.classes_[1] == estimator.positive_class_)


def true_labels(estimator: Any, y: Any) -> Any:
    """Labels to compare predictions with: all but one are the negative class if that is what was modelled."""
    negative, positive = class_pair(estimator)
    if not is_against_rest(negative, estimator._positive_label):
        return y
    return np.where(has_label(np.asarray(y), estimator._positive_label), positive, negative)
