"""How a model does on data it has not seen: ROC, calibration and the usual scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from scipy.stats import binomtest, norm, rankdata

from safescreen import prediction
from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.estimation import Estimate
from safescreen.problem.labels import is_against_rest
from safescreen.problem.validation import check_matrix
from safescreen.search.solution import Solution

_COMPARED = 64
"""Features that are looked at to find out whether held-out samples are training samples."""

_DISTINCT = 0.9
"""Share of the training samples that must differ from one another for that."""


class Model(NamedTuple):
    """What predicts: coefficients and intercept in the data's units, and the ridge at which they were estimated."""

    coef: FloatArray
    intercept: float
    gamma: float

    @classmethod
    def of(cls, solution: Solution, estimate: Estimate | None) -> Model:
        """The estimates, or the solution's own coefficients where there are none."""
        if estimate is None:
            return cls(solution.coef, solution.intercept, solution.problem.gamma)
        return cls(estimate.coef(solution.problem.n_features), estimate.intercept, estimate.gamma)


class Group(NamedTuple):
    """Samples of similar prediction: the mean of these, and the share that came true with its 95 % interval."""

    size: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True)
class HeldOut:
    """Predictions for held-out samples, and what came true."""

    log_odds: FloatArray
    positive: BoolArray
    base_rate: float  # of the positive class in the training data

    @property
    def probability(self) -> FloatArray:
        """Predicted probability of the positive class."""
        return prediction.probabilities(self.log_odds)[:, 1]

    @property
    def log_loss(self) -> float:
        """Mean log-loss, finite for confident mistakes."""
        return prediction.log_loss(self.log_odds, self.positive)

    @property
    def naive_log_loss(self) -> float:
        """Log-loss of always predicting the training data's base rate."""
        return prediction.log_loss(np.full(self.positive.size, logit(self.base_rate)), self.positive)

    @property
    def brier(self) -> float:
        """Mean squared distance of the probability from what came true."""
        return float(np.mean((self.probability - self.positive) ** 2))

    @property
    def auc(self) -> float:
        """Area under the ROC curve; NaN with one class."""
        return prediction.auc(self.log_odds, self.positive)

    def auc_interval(self) -> tuple[float, float]:
        """A 95 % interval for the area (DeLong's variance, on the logit scale); NaN for an area of 0 or 1."""
        area = self.auc
        if not 0.0 < area < 1.0:
            return math.nan, math.nan
        high, low = self.log_odds[self.positive], self.log_odds[~self.positive]
        ranks = rankdata(np.concatenate((high, low)))
        beaten = (ranks[: high.size] - rankdata(high)) / low.size  # share of negatives below each positive
        beating = (ranks[high.size :] - rankdata(low)) / high.size  # share of positives below each negative
        variance = sum(float(part.var(ddof=1)) / part.size for part in (beaten, beating) if part.size > 1)
        spread = norm.ppf(0.975) * math.sqrt(variance) / (area * (1.0 - area))
        return float(expit(logit(area) - spread)), float(expit(logit(area) + spread))

    def calibration(self) -> list[Group]:
        """Samples in groups of similar prediction, as equal in size as ties allow."""
        return [self._group(members) for members in prediction.similar_groups(self.log_odds)]

    def _group(self, members: IndexArray) -> Group:
        true = int(self.positive[members].sum())
        interval = binomtest(true, members.size).proportion_ci(method="wilson")
        predicted, observed = float(self.probability[members].mean()), true / members.size
        return Group(members.size, predicted, observed, float(interval.low), float(interval.high))


def evaluated(solution: Solution, model: Model, test: Any) -> HeldOut:
    """The model on held-out data ``(X, y)``."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise TypeError(f"test is a {type(test).__name__}, but must be a pair (X, y) of held-out data.")
    problem = solution.problem
    X = _matched(solution, test[0])
    log_odds = prediction.linear_predictor(X, model.coef, model.intercept)
    base_rate = float(problem.weights[problem.y > 0.0].sum())
    return HeldOut(log_odds, _positive(solution, test[1], X.shape[0]), base_rate)


def seen_before(solution: Solution, test: Any) -> int:
    """How many held-out samples are training samples, too: equal in the chosen features, in a few others and in class.

    None are found where training samples are too much alike for that to mean anything.
    """
    problem = solution.problem
    some = np.linspace(0, problem.n_features - 1, min(problem.n_features, _COMPARED)).astype(np.int64)
    columns = np.union1d(some, solution.support)
    X = _matched(solution, test[0])[:, columns]
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    scaled = (X - problem.design.means[columns]) / problem.design.scales[columns] if problem.standardize else X
    scaled = np.where(problem.design.constant[columns], 0.0, scaled)
    known = set(_keys(problem.design.columns(columns), problem.y > 0.0))
    if len(known) < _DISTINCT * problem.n_samples:
        return 0
    return sum(key in known for key in _keys(scaled, _positive(solution, test[1], X.shape[0])))


def _keys(block: FloatArray, positive: BoolArray) -> list[bytes]:
    """Samples as bytes, which are equal where the samples are."""
    rows = np.zeros((positive.size, block.shape[1] + 1))
    rows[:, :-1] += block  # onto zeros, so that none of them is negative
    rows[:, -1] = positive
    return [row.tobytes() for row in rows]


def _matched(solution: Solution, X: Any) -> Any:
    """The held-out matrix, its columns those of the training data."""
    matrix, names = check_matrix(X)
    problem = solution.problem
    if matrix.shape[1] != problem.n_features:
        raise ValueError(
            f"test has {matrix.shape[1]} features, but the model was fitted to {problem.n_features}: give the same "
            "columns in the same order."
        )
    if names is not None and problem.feature_names is not None:
        for j, (found, expected) in enumerate(zip(names, problem.feature_names, strict=True)):
            if str(found) != str(expected):
                raise ValueError(
                    f"test has {found!r} as column {j}, but the model was fitted to {expected!r} there: give the same "
                    "columns in the same order."
                )
    return matrix.tocsr() if sparse.issparse(matrix) else matrix  # whose columns can be taken, unlike other forms


def _positive(solution: Solution, y: Any, size: int) -> BoolArray:
    """Which samples have the label that is modelled."""
    labels = np.asarray(y).reshape(-1).tolist()
    if len(labels) != size:
        raise ValueError(f"test has {size} rows in X, but {len(labels)} labels in y.")
    negative, positive = solution.problem.classes.tolist()
    if is_against_rest(negative, solution.problem.positive_class):
        return np.array([label == solution.problem.positive_class for label in labels], dtype=np.bool_)
    unknown = [label for label in labels if label not in (negative, positive)]
    if unknown:
        raise ValueError(f"test has the label {unknown[0]!r} in y, but the model knows {negative!r} and {positive!r}.")
    return np.array([label == positive for label in labels], dtype=np.bool_)
