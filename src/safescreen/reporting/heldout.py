"""How a model does on data it has not seen: ROC, calibration and the usual scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
from scipy.stats import rankdata

from safescreen.search.solution import Solution
from safescreen.problem.validation import check_matrix

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_NORMAL = 1.959963984540054  # a 95 % interval, in standard deviations
_SMALLEST_BIN = 15  # samples
_MOST_BINS = 10


@dataclass(frozen=True)
class HeldOut:
    """Predictions for held-out samples, and what came true."""

    log_odds: FloatArray
    positive: BoolArray
    base_rate: float  # of the positive class in the training data

    @property
    def probability(self) -> FloatArray:
        """Predicted probability of the positive class."""
        return np.asarray(expit(self.log_odds))

    @property
    def log_loss(self) -> float:
        """Mean log-loss, finite for confident mistakes."""
        return float(np.logaddexp(0.0, np.where(self.positive, -self.log_odds, self.log_odds)).mean())

    @property
    def naive_log_loss(self) -> float:
        """Log-loss of always predicting the training data's base rate."""
        share = float(self.positive.mean())
        return -share * math.log(self.base_rate) - (1.0 - share) * math.log1p(-self.base_rate)

    @property
    def brier(self) -> float:
        """Mean squared distance of the probability from what came true."""
        return float(np.mean((self.probability - self.positive) ** 2))

    @property
    def accuracy(self) -> float:
        """Share of samples whose more probable class came true."""
        return float(np.mean((self.log_odds > 0.0) == self.positive))

    @property
    def has_both_classes(self) -> bool:
        """Whether a ROC curve is defined."""
        return bool(self.positive.any() and not self.positive.all())

    def auc(self) -> tuple[float, float, float]:
        """Area under the ROC curve with a 95 % interval (DeLong's variance, on the logit scale)."""
        high, low = self.log_odds[self.positive], self.log_odds[~self.positive]
        everyone = rankdata(np.concatenate((high, low)))
        beaten = (everyone[: high.size] - rankdata(high)) / low.size  # share of negatives below each positive
        beating = 1.0 - (everyone[high.size :] - rankdata(low)) / high.size
        area = float(beaten.mean())
        variance = sum(float(part.var(ddof=1)) / part.size for part in (beaten, beating) if part.size > 1)
        if not 0.0 < area < 1.0:
            return area, math.nan, math.nan
        spread = _NORMAL * math.sqrt(variance) / (area * (1.0 - area))
        centre = math.log(area / (1.0 - area))
        return area, float(expit(centre - spread)), float(expit(centre + spread))

    def roc(self) -> tuple[FloatArray, FloatArray]:
        """Rates of false and true positives as the threshold falls, one point per distinct prediction."""
        order = np.argsort(-self.log_odds, kind="stable")
        score, hit = self.log_odds[order], self.positive[order]
        last = np.flatnonzero(np.append(np.diff(score) != 0.0, True))
        true, false = np.cumsum(hit)[last], np.cumsum(~hit)[last]
        rates = np.concatenate(([0.0], false / false[-1])), np.concatenate(([0.0], true / true[-1]))
        return rates[0], rates[1]

    def calibration(self) -> list[Bin]:
        """Samples in groups of similar prediction, as equal in size as ties allow."""
        count = int(np.clip(self.log_odds.size // _SMALLEST_BIN, 1, _MOST_BINS))
        order = np.argsort(self.log_odds, kind="stable")
        score = self.log_odds[order]
        cuts = [round(i * score.size / count) for i in range(1, count)]
        cuts = sorted({int(np.searchsorted(score, score[cut], side="left")) for cut in cuts} - {0})
        return [_bin(self.probability[group], self.positive[group]) for group in np.split(order, cuts)]


@dataclass(frozen=True)
class Bin:
    """Samples of similar prediction."""

    size: int
    predicted: float
    observed: float
    low: float
    high: float


def _bin(probability: FloatArray, positive: BoolArray) -> Bin:
    """The bin's mean prediction and observed rate with Wilson's interval."""
    size, share = positive.size, float(positive.mean())
    squeeze = 1.0 + _NORMAL**2 / size
    centre = (share + _NORMAL**2 / (2 * size)) / squeeze
    spread = _NORMAL / squeeze * math.sqrt(share * (1.0 - share) / size + _NORMAL**2 / (4 * size**2))
    return Bin(
        size,
        float(probability.mean()),
        share,
        min(max(centre - spread, 0.0), share),
        max(min(centre + spread, 1.0), share),
    )


def evaluated(solution: Solution, test: Any) -> HeldOut:
    """The model on held-out data ``(X, y)``."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise TypeError(f"test is a {type(test).__name__}, but must be a pair (X, y) of held-out data.")
    problem = solution.problem
    matrix = _matched(solution, test[0])
    support = np.flatnonzero(solution.coef)
    chosen = matrix[:, support]
    chosen = chosen.toarray() if sparse.issparse(chosen) else np.asarray(chosen)
    log_odds = chosen.astype(np.float64) @ solution.coef[support] + solution.intercept
    base_rate = float(problem.weights[problem.y > 0.0].sum())
    return HeldOut(log_odds, _positive(solution, test[1], matrix.shape[0]), base_rate)


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
        differing = np.flatnonzero(names.astype(str) != problem.feature_names.astype(str))
        if differing.size:
            j = int(differing[0])
            raise ValueError(
                f"test has {names[j]!r} as column {j}, but the model was fitted to {problem.feature_names[j]!r} there: "
                "give the same columns in the same order."
            )
    return matrix.tocsc() if sparse.issparse(matrix) else matrix


def _positive(solution: Solution, y: Any, size: int) -> BoolArray:
    """Which samples have the larger of the two labels."""
    labels = np.asarray(y).reshape(-1)
    if labels.size != size:
        raise ValueError(f"test has {size} rows in X, but {labels.size} labels in y.")
    negative, positive = solution.problem.classes.tolist()
    known = [label in (negative, positive) for label in labels.tolist()]
    if not all(known):
        stranger = labels.tolist()[known.index(False)]
        raise ValueError(f"test has the label {stranger!r} in y, but the model knows {negative!r} and {positive!r}.")
    return np.array([label == positive for label in labels.tolist()], dtype=np.bool_)
