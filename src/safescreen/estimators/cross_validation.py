"""Cross-validated choice of budget or price and ridge, with a proof for the final model.

Inside a fold all candidates share one design, and each starts from the model of a neighbour; the folds are
independent tasks for joblib.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data

from safescreen.arrays import FloatArray, IndexArray
from safescreen.estimators.classifier import SEARCH, EndedEarlyWarning, L0LogisticRegression
from safescreen.estimators.copies import groups_of, superfluous_copies
from safescreen.estimators.labels import two_labels
from safescreen.estimators.shared import DEFAULT_BUDGET, check_binary, make_problem
from safescreen.path import checked_values, is_sequence, solve_along
from safescreen.prediction import log_loss
from safescreen.problem.terms import Features, Terms
from safescreen.problem.validation import (
    check_budget,
    check_features,
    check_gamma,
    check_price,
    check_target,
    check_weights,
)
from safescreen.search import Settings, Solution
from safescreen.status import Status

Values = Sequence[Any] | npt.NDArray[Any]
Scorer = Callable[..., float]
PartMaker = Callable[[Any, IndexArray, IndexArray], tuple[Any, Any]]

_CHOSEN = ("k", "mu", "gamma")
"""What a grid may vary."""

_SHARED = (
    *(name for name in Terms.names() if name not in _CHOSEN),
    "class_weight",
    "positive_class",
    "copies",
    *SEARCH,
    "verbose",
)
"""What holds for all candidates."""


def _plain_rows(X: Any, train: IndexArray, test: IndexArray) -> tuple[Any, Any]:
    """A fold's training and test part, as they are."""
    return X[train], X[test]


class L0LogisticRegressionCV(L0LogisticRegression):
    """Logistic regression with the provably best features, their number or price and the ridge cross-validated.

    Parameters
    ----------
    k : int or sequence of int, optional
        Budgets to try.
    mu : float or sequence of float, optional
        Prices to try. At most one of `k` and `mu` is a sequence; the other one, if given, holds for all candidates.
        With neither, the budgets ``1, ..., min(10, n_features)`` are tried, from the number of included features on.
    gamma : float or sequence of float, default 1.0
        Ridge parameters to try, each together with each budget or price.
    cv : int, cross-validation generator or iterable, optional
        As in scikit-learn; by default five stratified folds.
    scoring : str or callable, optional
        As in scikit-learn, larger is better; by default the negative log-loss.
    one_standard_error : bool, default False
        Whether to choose the smallest budget (or largest price, then the smallest `gamma`) whose mean score is within
        one standard error of the best, instead of the best.
    refit : bool, default True
        Whether to fit the chosen candidate to all data. Without it there is nothing to predict with until `adopt`
        is given a solution.
    n_jobs : int, optional
        Folds fitted at the same time, through joblib and whatever backend is active there. Each fold searches with
        `n_threads` threads, so ``n_jobs * n_threads`` threads work at once: let that not exceed the number of cores.
        There are only as many folds to share, but folds share nothing, so raise `n_jobs` first.
    make_parts : callable, optional
        Called as ``make_parts(X, train, test)`` with the row indices of a fold, returns its training and its test
        matrix; by default those rows of `X`. The place for what is learned from training rows before any fit, such as
        values that fill gaps. It goes to other processes, so it must be picklable where `n_jobs` uses some.
    proof : str or path-like, optional
        Where to write a proof of the final model, the refit.
    fit_intercept, standardize, class_weight, positive_class, include, exclude, copies, rel_gap, time_limit, \
node_limit, screening, n_threads, verbose
        As for :class:`L0LogisticRegression`; limits are per fit.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As from scikit-learn's ``GridSearchCV``: ``params``, ``param_k`` or ``param_mu``, ``param_gamma``,
        ``split{i}_test_score``, ``mean_test_score``, ``std_test_score``, ``rank_test_score``, ``mean_fit_time``,
        ``std_fit_time``, and ``max_gap``, the largest gap left in any fold.
    best_index_, best_params_, best_score_ : int, dict, float
        The chosen candidate and its mean score.
    best_estimator_ : L0LogisticRegression
        The chosen candidate fitted to all data, with its proof; only with `refit`.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, classes_, positive_class_, copies_, support_, objective_, lower_bound_, gap_, status_, n_iter_, \
solution_
        Of ``best_estimator_``; see :class:`L0LogisticRegression`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the features, if the data had any.

    See Also
    --------
    l0_path : Certified solutions along one parameter, without cross-validation.

    Notes
    -----
    `score` is the accuracy, as for other classifiers, whatever `scoring` is.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safescreen import L0LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L0LogisticRegressionCV(k=range(1, 4), cv=3).fit(X, y)
    >>> model.best_params_["k"] == model.support_.size
    True
    """

    _default_scoring: ClassVar[str] = "neg_log_loss"

    def __init__(
        self,
        *,
        k: int | Values | None = None,
        mu: float | Values | None = None,
        gamma: float | Values = 1.0,
        cv: Any = None,
        scoring: str | Scorer | None = None,
        one_standard_error: bool = False,
        refit: bool = True,
        n_jobs: int | None = None,
        make_parts: PartMaker | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        positive_class: Any = None,
        include: Features = (),
        exclude: Features = (),
        copies: str = "one",
        rel_gap: float = 1e-4,
        time_limit: float | None = None,
        node_limit: int | None = None,
        screening: str = "nodes",
        n_threads: int = 1,
        proof: str | PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.k = k  # type: ignore[assignment]
        self.mu = mu  # type: ignore[assignment]
        self.gamma = gamma  # type: ignore[assignment]
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.refit = refit
        self.n_jobs = n_jobs
        self.make_parts = make_parts
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.positive_class = positive_class
        self.include = include
        self.exclude = exclude
        self.copies = copies
        self.rel_gap = rel_gap
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.screening = screening
        self.n_threads = n_threads
        self.proof = proof
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, groups: npt.ArrayLike | None = None
    ) -> Self:
        """Score all candidates by cross-validation and fit the best one to all data.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Two labels of any kind, or more with `positive_class`.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, used for fitting and for scoring.
        groups : array-like of shape (n_samples,), optional
            Groups of samples, for splitters that need them.

        Returns
        -------
        L0LogisticRegressionCV
            The fitted estimator.
        """
        self._check_proof()
        matrix, labels = validate_data(self, X, y, accept_sparse="csr", dtype="numeric")
        weights = check_weights(sample_weight, matrix.shape[0])
        check_binary(labels, weights, self.positive_class)
        labels, positive_class = two_labels(labels, weights, self.positive_class)
        decided = self._decided(matrix.shape[1])
        grid = _make_grid(self.k, self.mu, self.gamma, matrix.shape[1], len(decided["include"]))
        template = L0LogisticRegression(**grid.fixed, **{name: getattr(self, name) for name in _SHARED})
        self._template = clone(template)
        template.set_params(**decided, positive_class=positive_class, copies="allow")
        state = partial(make_problem, clone(template), matrix, labels, sample_weight)
        template.set_params(exclude=[*decided["exclude"], *superfluous_copies(self.copies, state)])
        splits = list(check_cv(self.cv, labels, classifier=True).split(matrix, labels, groups))
        scorer = _log_loss_scorer if self.scoring is None else get_scorer(self.scoring)
        data = _Data(matrix, labels, None if sample_weight is None else weights)
        make_parts = _plain_rows if self.make_parts is None else self.make_parts
        tasks = (delayed(_run_fold)(template, grid, data, split, make_parts, scorer) for split in splits)
        self._record(grid, Parallel(n_jobs=self.n_jobs)(tasks))
        if self.refit:
            self.best_estimator_ = self._best().set_params(proof=self.proof)
            self._adopt(self.best_estimator_.fit(X, y, sample_weight).solution_)
            self.copies_ = self.best_estimator_.copies_
        return self

    def adopt(self, solution: Solution) -> Self:
        """Take a solution found elsewhere as the final model, as a refit would have left it.

        Parameters
        ----------
        solution : Solution
            Of the chosen candidate on all data, by `solve`.

        Returns
        -------
        L0LogisticRegressionCV
            The fitted estimator.
        """
        if not hasattr(self, "cv_results_"):
            raise NotFittedError("This L0LogisticRegressionCV has not chosen a candidate yet: call fit before adopt.")
        self.best_estimator_ = self._best()._adopt(solution)
        self.best_estimator_.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            self.best_estimator_.feature_names_in_ = self.feature_names_in_
        self.copies_ = self.best_estimator_.copies_ = groups_of(solution)
        return self._adopt(solution)

    def _check_proof(self) -> None:
        """Refuse what the refit could not write, before the folds are searched."""
        if self.proof is None:
            return
        check_target("proof", self.proof)
        if not self.refit:
            raise ValueError(f"proof is {str(self.proof)!r}, but refit is False, so that there is no model to prove.")

    def _best(self) -> L0LogisticRegression:
        """The chosen candidate, not yet fitted."""
        best: L0LogisticRegression = clone(self._template).set_params(**self.best_params_)
        return best

    def _decided(self, n_features: int) -> dict[str, list[int]]:
        """Features decided beforehand as indices, since the rows of a fold have lost their names."""
        names = getattr(self, "feature_names_in_", None)
        return {
            name: check_features(name, getattr(self, name), n_features, names).tolist()
            for name in ("include", "exclude")
        }

    def _record(self, grid: _Grid, folds: list[_Fold]) -> None:
        """Collect the folds' scores and choose a candidate."""
        self.n_splits_ = len(folds)
        self.cv_results_ = _tabulate(grid, folds)
        mean, spread = self.cv_results_["mean_test_score"], self.cv_results_["std_test_score"]
        best = int(np.argmin(self.cv_results_["rank_test_score"]))
        if self.one_standard_error:
            best = _simplest(grid, mean >= mean[best] - spread[best] / np.sqrt(len(folds)))
        self.best_index_ = best
        self.best_params_ = grid.params[best]
        self.best_score_ = float(mean[best])
        gaps = np.array([fold.gaps for fold in folds])
        if (gaps > self.rel_gap).any():
            warnings.warn(
                f"{np.count_nonzero(gaps > self.rel_gap)} of {gaps.size} fits in cross-validation ended early, the "
                f"worst with a gap of {gaps.max():.3g}, above rel_gap={self.rel_gap:g}: their scores are those of the "
                "best models found. Allow more time, a larger gap or a smaller gamma.",
                EndedEarlyWarning,
                stacklevel=3,
            )

    def __sklearn_is_fitted__(self) -> bool:
        """Without a refit there are results, but no model."""
        return hasattr(self, "coef_")


class _Data(NamedTuple):
    """Checked training data."""

    X: Any
    y: npt.NDArray[Any]
    weights: FloatArray | None

    def parts(self, split: tuple[IndexArray, IndexArray], make_parts: PartMaker) -> list[_Data]:
        """The training and the test part."""
        return [
            _Data(X, self.y[rows], None if self.weights is None else self.weights[rows])
            for X, rows in zip(make_parts(self.X, *split), split, strict=True)
        ]


class _Fold(NamedTuple):
    """One number per candidate."""

    scores: FloatArray
    gaps: FloatArray
    seconds: FloatArray


@dataclass(frozen=True)
class _Grid:
    """The candidates: each ridge parameter with each budget or price, the latter running fastest."""

    name: str
    values: list[Any]
    gammas: list[float]
    fixed: dict[str, Any]

    @property
    def params(self) -> list[dict[str, Any]]:
        return [{self.name: value, "gamma": gamma} for gamma in self.gammas for value in self.values]


def _make_grid(k: Any, mu: Any, gamma: Any, n_features: int, n_included: int) -> _Grid:
    """The candidates a user asks for; the problem keeps what is fixed."""
    if is_sequence(k) and is_sequence(mu):
        raise ValueError("k and mu are both sequences, but only one of them may be.")
    gammas = checked_values("gamma", gamma) if is_sequence(gamma) else [check_gamma(gamma)]
    if k is None and mu is None:
        fewest = max(1, n_included)
        k = range(fewest, max(fewest, min(DEFAULT_BUDGET, n_features)) + 1)
    if is_sequence(mu) or k is None:
        values = checked_values("mu", mu) if is_sequence(mu) else [check_price(mu)]
        return _Grid("mu", values, gammas, {"k": check_budget(k), "mu": values[0], "gamma": gammas[0]})
    values = checked_values("k", k) if is_sequence(k) else [check_budget(k)]
    return _Grid("k", values, gammas, {"k": values[0], "mu": mu, "gamma": gammas[0]})


def _run_fold(
    template: L0LogisticRegression,
    grid: _Grid,
    data: _Data,
    split: tuple[IndexArray, IndexArray],
    make_parts: PartMaker,
    scorer: Scorer,
) -> _Fold:
    """Fit all candidates to one part of the data and score them on the other."""
    training, held_out = data.parts(split, make_parts)
    solutions = _solve_grid(template, grid, training)
    scores = []
    for params, solution in zip(grid.params, solutions, strict=True):
        model = clone(template).set_params(**params)._adopt(solution)
        model.n_features_in_ = data.X.shape[1]
        scores.append(_score(model, held_out, scorer))
    gaps, seconds = [solution.gap for solution in solutions], [solution.seconds for solution in solutions]
    return _Fold(np.array(scores), np.array(gaps), np.array(seconds))


def _solve_grid(template: L0LogisticRegression, grid: _Grid, data: _Data) -> list[Solution]:
    """A path per ridge parameter, from strong to weak ridge, each starting from the one before."""
    problem = make_problem(clone(template), *data)
    settings = Settings(**{name: getattr(template, name) for name in SEARCH})
    paths: dict[int, list[Solution]] = {}
    previous: list[Solution] | None = None
    for place in np.argsort(grid.gammas, kind="stable").tolist():
        previous = paths[place] = solve_along(
            problem.with_parameters(gamma=grid.gammas[place]),
            grid.name,
            grid.values,
            settings,
            starts=previous,
        )
        if any(solution.status == Status.INTERRUPTED for solution in previous):
            raise KeyboardInterrupt  # scores of searches cut short would make an arbitrary choice
    return [solution for place in range(len(grid.gammas)) for solution in paths[place]]


def _score(model: L0LogisticRegression, data: _Data, scorer: Scorer) -> float:
    """The score; weights are passed on only if there are any, since not every scorer takes them."""
    if data.weights is None:
        return float(scorer(model, data.X, data.y))
    return float(scorer(model, data.X, data.y, sample_weight=data.weights))


def _log_loss_scorer(
    model: L0LogisticRegression, X: Any, y: npt.NDArray[Any], sample_weight: FloatArray | None = None
) -> float:
    """The mean log-likelihood: defined for folds with one class, and finite for confident mistakes."""
    return -log_loss(model.decision_function(X), y == model.classes_[1], sample_weight)


def _tabulate(grid: _Grid, folds: list[_Fold]) -> dict[str, Any]:
    """Results in the layout of scikit-learn's ``GridSearchCV``."""
    params = grid.params
    scores, seconds = np.array([fold.scores for fold in folds]), np.array([fold.seconds for fold in folds])
    mean = scores.mean(axis=0)
    return {
        "mean_fit_time": seconds.mean(axis=0),
        "std_fit_time": seconds.std(axis=0),
        **{f"param_{name}": np.array([candidate[name] for candidate in params]) for name in params[0]},
        "params": params,
        **{f"split{i}_test_score": fold.scores for i, fold in enumerate(folds)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int32),
        "max_gap": np.array([fold.gaps for fold in folds]).max(axis=0),
    }


def _simplest(grid: _Grid, allowed: npt.NDArray[np.bool_]) -> int:
    """The allowed candidate with the fewest features, or the highest price, and then the strongest ridge."""
    sign = 1.0 if grid.name == "k" else -1.0
    params = grid.params
    candidates = np.flatnonzero(allowed).tolist()
    return int(min(candidates, key=lambda i: (sign * params[i][grid.name], params[i]["gamma"])))
