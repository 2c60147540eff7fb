"""Which candidate a cross-validation chooses, and what is said about the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from safescreen.arrays import BoolArray, FloatArray
from safescreen.estimators.candidates import Candidates
from safescreen.estimators.folds import Fold

FEW = 3
"""Of fewer values than this every choice lies at an edge, so that none is worth mentioning."""

_LITTLE = 0.5
"""A difference in standard errors of itself that is not worth a weaker ridge, and so a harder proof."""

_WIDER = {
    "k": ("larger", "more features may predict better"),
    "mu": ("smaller", "more features may predict better"),
    "gamma": ("larger", "a weaker ridge may choose better features"),
    "refit_gamma": ("larger", "a weaker ridge may predict better"),
}
"""In which direction there may be more, and what it would mean."""


def tabulate(candidates: Candidates, folds: list[Fold]) -> dict[str, Any]:
    """Results in the layout of scikit-learn's ``GridSearchCV``."""
    params = candidates.params
    scores, gaps, seconds, sizes = (np.array(values) for values in zip(*folds, strict=True))
    return {
        "mean_fit_time": seconds.mean(axis=0),
        "std_fit_time": seconds.std(axis=0),
        **{f"param_{name}": _column([one[name] for one in params]) for name in params[0]},
        "params": params,
        **{f"split{i}_test_score": fold.scores for i, fold in enumerate(folds)},
        **_ranked(scores.mean(axis=0)),
        "std_test_score": scores.std(axis=0),
        "mean_n_features": sizes.mean(axis=0),
        "max_gap": gaps.max(axis=0),
    }


def _ranked(mean: FloatArray) -> dict[str, Any]:
    places = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min")
    return {"mean_test_score": mean, "rank_test_score": places.astype(np.int32)}


def _column(values: list[Any]) -> npt.NDArray[Any]:
    """Numbers as numbers, and as objects where words are among them."""
    if any(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    return np.array(values)


def choose(candidates: Candidates, folds: list[Fold], fold_gap: float, one_standard_error: bool) -> int:
    """The best candidate, or one that cannot be told from it and is simpler or easier to prove.

    With `one_standard_error`, the fewest features (or the highest price) within one standard error of the best.
    Otherwise the best one with the strongest ridge of the choice that differs from it by at most half the standard
    error of their difference. If searches of that one ended before their gap, the best one whose searches did not takes
    its place, should it lie within the whole standard error: what cannot be proved in a fold is not likely to be proved
    on all data.
    """
    scores = np.array([fold.scores for fold in folds])
    mean = np.where(np.isnan(scores).any(axis=0), -np.inf, scores.mean(axis=0))
    best = int(np.argmax(mean))
    if one_standard_error:
        near = mean >= mean[best] - scores[:, best].std() / np.sqrt(len(folds))
        return _simplest(candidates, near, mean)
    if len(folds) < 2 or not np.isfinite(mean[best]):
        return best
    lost = mean[best] - mean
    doubt = (scores - scores[:, [best]]).std(axis=0, ddof=1) / np.sqrt(len(folds))
    gammas = np.array([one["gamma"] for one in candidates.params])
    near = lost <= _LITTLE * doubt
    chosen = _best_of(near & (gammas == gammas[near].min()), mean)
    proved = np.array([fold.gaps for fold in folds]).max(axis=0) <= fold_gap
    provable = proved & (lost <= doubt)
    return chosen if proved[chosen] or not provable.any() else _best_of(provable, mean)


def _best_of(allowed: BoolArray, mean: FloatArray) -> int:
    return int(np.argmax(np.where(allowed, mean, -np.inf)))


def _simplest(candidates: Candidates, allowed: BoolArray, mean: FloatArray) -> int:
    """The allowed candidate with the fewest features, or the highest price, then the strongest ridge of the choice."""
    sign = 1.0 if candidates.name == "k" else -1.0
    params = candidates.params
    places = np.flatnonzero(allowed).tolist()
    return int(min(places, key=lambda i: (sign * params[i][candidates.name], params[i]["gamma"], -mean[i])))


def at_edges(candidates: Candidates, names: list[str], params: dict[str, Any], n_features: int) -> list[str]:
    """Which of these parameters lie at the edge of what was tried, each as a sentence."""
    sentences = []
    for name in names:
        tried = candidates.tried[name]
        numbers = sorted({value for value in tried if not isinstance(value, str)})
        direction, meaning = _WIDER[name]
        edge = numbers[-1 if direction == "larger" else 0] if numbers else None
        reached = name == "k" and params[name] >= n_features
        if len(numbers) >= FEW and params[name] == edge and not reached:
            sentences.append(f"{name}={edge:g} is the {_extreme(direction)} value tried, and {meaning}")
    return sentences


def _extreme(direction: str) -> str:
    return "largest" if direction == "larger" else "smallest"


def leaders(results: Mapping[str, Any], by: Sequence[str], chosen: int) -> list[int]:
    """Of the candidates that share these parameters the best one each; the chosen one leads wherever it is."""
    groups: dict[tuple[Any, ...], int] = {}
    rank = results["rank_test_score"]
    for i, params in enumerate(results["params"]):
        group = tuple(params[name] for name in by)
        if i == chosen or group not in groups or (groups[group] != chosen and rank[i] < rank[groups[group]]):
            groups[group] = i
    return list(groups.values())


def shown_score(search: Any) -> tuple[str, float]:
    """What people call the score, and its sign: losses and criteria are read as they are, the smaller the better."""
    if search.criterion is not None:
        return search.criterion.upper(), -1.0
    if search.scoring is None:
        return "log-loss", -1.0
    return (search.scoring.replace("_", " ") if isinstance(search.scoring, str) else "score"), 1.0


def account(search: Any, symbols: Mapping[str, str] | None = None) -> str:
    """Which candidate a fitted cross-validation chose, and for what, in a sentence."""
    names = {name: name if symbols is None else symbols[name] for name in search.best_params_}
    chosen = ", ".join(f"{names[name]} = {told(value)}" for name, value in search.best_params_.items())
    tried = len(search.cv_results_["params"])
    number = f" out of {tried:,} candidates" if tried > 1 else ""
    if search.criterion is not None:
        return f"{chosen} was chosen{number} for the lowest {search.criterion.upper()} on all data."
    rule = "the fewest features within one standard error of " if search.one_standard_error else ""
    return f"{chosen} was chosen{number} for {rule}the best mean score in {search.n_splits_} folds."


def told(value: float | str) -> str:
    """A number, or a word in its place."""
    return value if isinstance(value, str) else f"{value:g}"
