"""Cross-validated choice of size and ridges within a total time, with a proof for the final model.

The folds are independent tasks for joblib. Their searches go only as far as scores need; what is left of the time goes
to the proof of the final choice.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from safescreen.defaults import GAMMAS, TOTAL_TIME
from safescreen.estimators.candidates import CHOSEN, Candidates, make_candidates
from safescreen.estimators.checking import checked
from safescreen.estimators.choosing import at_edges, choose, tabulate
from safescreen.estimators.classifier import SEARCH, EndedEarlyWarning, L0LogisticRegression
from safescreen.estimators.clock import Clock
from safescreen.estimators.copies import superfluous_copies
from safescreen.estimators.criteria import check_criterion, score_by_criterion
from safescreen.estimators.folds import (
    Data,
    Fold,
    Job,
    PartMaker,
    Scorer,
    Split,
    plain_rows,
    run_fold,
    usual_folds,
)
from safescreen.estimators.labels import two_labels
from safescreen.estimators.shared import check_binary, make_problem
from safescreen.problem.terms import Features, Terms
from safescreen.problem.validation import about, check_features, check_target, check_weights
from safescreen.search import Solution, compile_now
from safescreen.search.interrupts import raising_interrupts
from safescreen.search.progress import Progress
from safescreen.search.settings import Settings, check_jobs
from safescreen.text import brief

Values = Sequence[Any] | npt.NDArray[Any]

_SHARED = (
    *(name for name in Terms.names() if name not in CHOSEN),
    "class_weight",
    "positive_class",
    "copies",
    *(name for name in SEARCH if name != "time_limit"),
)
"""What holds for all candidates."""

_SHARE_OF_FOLDS = 0.6
"""Of the total time; what the folds do not need goes to the final model."""

_SHARE_OF_PATH = 0.8
"""Of the total time, where a criterion chooses: its path is exact already, so that the final model needs little."""

_AFTER_INTERRUPT = 1.0
"""Seconds for a model of what is finished, after Ctrl-C."""


class GridEdgeWarning(UserWarning):
    """The best candidate lies at the edge of what was tried, so that there may be better ones beyond it."""


class L0LogisticRegressionCV(L0LogisticRegression):
    """A good small model with nothing to set: size and ridges by cross-validation, the final choice proved.

    Every budget (or price) is tried with every ridge of the choice and every ridge of the estimates. The best
    combination is then solved on all data, and what is left of the time goes to its proof. See
    :class:`L0LogisticRegression` for the two ridges.

    Parameters
    ----------
    k : int or sequence of int, optional
        Budgets to try.
    mu : float or sequence of float, optional
        Prices to try. At most one of `k` and `mu` is a sequence; the other one, if given, holds for all candidates.
        With neither, budgets from 1 (or the number of included features) to 20 are tried, coarser above 6.
    gamma : float or sequence of float, default (1.0, 3.0, 10.0)
        Ridges of the choice to try, each together with each budget or price.
    refit_gamma : float, "same", "cv" or sequence of these, optional
        Ridges of the estimates to try; they cost next to nothing. By default ``"same"`` and 10, 30, 100, ..., 3000, as
        far as they are at most half the number of samples: on few samples, weaker ones make confident mistakes.
    cv : int, cross-validation generator or iterable, optional
        As in scikit-learn; by default five stratified folds (fewer where a class has fewer rows), drawn four times with
        up to 200 samples and twice with up to 1,000, since the scores of few samples are noisy.
    scoring : str or callable, optional
        As in scikit-learn, larger is better; by default the negative log-loss.
    criterion : {"bic", "ebic", "gic"}, optional
        Choose by an information criterion on all data instead of folds: seconds instead of a minute. Coefficients are
        then estimated with ``refit_gamma="cv"`` unless something else is given.
    one_standard_error : bool, default False
        Whether to choose the smallest budget (or largest price, then the smallest `gamma`) whose mean score is within
        one standard error of the best, instead of the best.
    time_limit : float, optional, default 60.0
        Seconds for everything, the final model included, compilation excluded. Folds get at most 60 % of it, and the
        final model whatever they leave. What is not done by then is left out, and said in an `EndedEarlyWarning`. None
        is no limit.
    fold_gap : float, default 0.01
        Gap of the searches inside the folds: scores need no more.
    rel_gap : float, default 1e-4
        Gap of the final model.
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
    fit_intercept, standardize, class_weight, positive_class, include, exclude, copies, node_limit, \
screening, n_threads, memory_limit
        As for :class:`L0LogisticRegression`; `node_limit` and `memory_limit` are per search.
    verbose : int, default 0
        Whether to say on standard error how many fits are done and how long the rest may take.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As from scikit-learn's ``GridSearchCV``: ``params``, ``param_k`` or ``param_mu``, ``param_gamma``,
        ``param_refit_gamma``, ``split{i}_test_score``, ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        ``mean_fit_time``, ``std_fit_time``, and ``mean_n_features`` and ``max_gap``, the largest gap left in any fold.
        With a `criterion` its values are ``criterion``, and there are no splits.
    best_index_, best_params_, best_score_ : int, dict, float
        The chosen candidate and its mean score.
    edges_ : list of str
        What lies at the edge of the values tried, so that there may be better ones beyond; said in a `GridEdgeWarning`.
    undone_ : str
        What there was no time for in the folds, as said in an `EndedEarlyWarning`; empty if all is done.
    best_estimator_ : L0LogisticRegression
        The chosen candidate fitted to all data, with its proof; only with `refit`.
    n_splits_ : int
        Number of folds finished; 0 with a `criterion`.
    coef_, intercept_, selection_, estimate_, classes_, positive_class_, copies_, support_, objective_, lower_bound_, \
gap_, status_, n_iter_, solution_
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
        gamma: float | Values = GAMMAS,
        refit_gamma: float | str | Values | None = None,
        cv: Any = None,
        scoring: str | Scorer | None = None,
        criterion: str | None = None,
        one_standard_error: bool = False,
        time_limit: float | None = TOTAL_TIME,
        fold_gap: float = 1e-2,
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
        node_limit: int | None = None,
        screening: str = "nodes",
        n_threads: int = 1,
        memory_limit: float | None = None,
        proof: str | PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.k = k  # type: ignore[assignment]
        self.mu = mu  # type: ignore[assignment]
        self.gamma = gamma  # type: ignore[assignment]
        self.refit_gamma = refit_gamma  # type: ignore[assignment]
        self.cv = cv
        self.scoring = scoring
        self.criterion = criterion
        self.one_standard_error = one_standard_error
        self.time_limit = time_limit
        self.fold_gap = fold_gap
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
        self.node_limit = node_limit
        self.screening = screening
        self.n_threads = n_threads
        self.memory_limit = memory_limit
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

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C. What was finished is kept: ``cv_results_`` of the folds that are done, and, if there are any,
            a model of the best candidate so far.
        """
        self._check()
        job, splits = self._prepare(X, y, sample_weight, groups)
        self._forget()
        compile_now()
        clock = Clock(Settings(time_limit=self.time_limit).checked().time_limit)
        finished: list[Fold] = []
        try:
            with raising_interrupts():
                if check_criterion(self.criterion) is not None:
                    return self._fit_by_criterion(job, X, y, sample_weight, clock)
                self._run(job, splits, clock, finished)
                self._record(job.candidates, finished, len(splits))
                if self.refit:
                    self._finish(X, y, sample_weight, clock.remaining)
        except KeyboardInterrupt:
            self._keep(job.candidates, finished, len(splits), (X, y, sample_weight))
            raise
        return self

    def _forget(self) -> None:
        """Let no result of an earlier fit pass for one of this, should this one end before it has any."""
        of_data = ("n_features_in_", "feature_names_in_")
        for name in [name for name in vars(self) if name.endswith("_") and name not in of_data]:
            delattr(self, name)

    def _check(self) -> None:
        """Refuse what makes no sense before anything is searched."""
        check_criterion(self.criterion)
        Settings(**{name: getattr(self, name) for name in SEARCH}).checked()
        check_jobs(self.n_jobs)
        try:
            Settings(rel_gap=self.fold_gap).checked()
        except ValueError as error:
            raise about("fold_gap", ValueError(str(error).replace("rel_gap", "fold_gap", 1))) from None
        if self.criterion is not None and self.scoring is not None:
            raise ValueError(
                f"criterion is {brief(self.criterion)} and scoring is {brief(self.scoring)}, but an information "
                "criterion takes the place of a score: give one of them."
            )
        if self.proof is None:
            return
        check_target("proof", self.proof)
        if not self.refit:
            raise ValueError(f"proof is {str(self.proof)!r}, but refit is False, so that there is no model to prove.")

    def _prepare(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, groups: npt.ArrayLike | None
    ) -> tuple[Job, list[Split]]:
        """Everything the folds need, checked."""
        matrix, labels = checked(self, X, y, accept_sparse="csr")
        weights = check_weights(sample_weight, matrix.shape[0])
        check_binary(labels, weights, self.positive_class)
        labels, positive_class = two_labels(labels, weights, self.positive_class)
        decided = self._decided(matrix.shape[1])
        candidates = make_candidates(
            self.k, self.mu, self.gamma, self.refit_gamma,
            n_samples=int(np.count_nonzero(weights)), n_features=matrix.shape[1], n_required=len(decided["include"]),
        )  # fmt: skip
        shared = {name: getattr(self, name) for name in _SHARED}
        self._template = L0LogisticRegression(**candidates.fixed, **shared, verbose=self.verbose)
        template = clone(self._template).set_params(
            **decided, positive_class=positive_class, copies="allow", rel_gap=self.fold_gap, verbose=0
        )
        state = partial(make_problem, clone(template), matrix, labels, sample_weight)
        template.set_params(exclude=[*decided["exclude"], *superfluous_copies(self.copies, state)])
        data = Data(matrix, labels, None if sample_weight is None else weights)
        make_parts = plain_rows if self.make_parts is None else self.make_parts
        scorer: Scorer | None = None if self.scoring is None else get_scorer(self.scoring)
        splits = list(self._splits(data, groups)) if self.criterion is None else []
        return Job(template, candidates, data, make_parts, scorer), splits

    def _splits(self, data: Data, groups: npt.ArrayLike | None) -> Iterator[Split]:
        """The folds: the user's, or five stratified ones, drawn several times where samples are few.

        Rows of weight zero count as absent, unless the user says which rows go where.
        """
        if self.cv is not None and not isinstance(self.cv, Integral):
            yield from check_cv(self.cv, data.y, classifier=True).split(data.X, data.y, groups)
            return
        counted = np.arange(len(data.y)) if data.weights is None else np.flatnonzero(data.weights > 0.0)
        y = data.y[counted]
        splitter = usual_folds(y) if self.cv is None else check_cv(self.cv, y, classifier=True)
        for train, test in splitter.split(np.zeros(y.size), y):
            yield counted[train], counted[test]

    def _run(self, job: Job, splits: list[Split], clock: Clock, finished: list[Fold]) -> None:
        """Run the folds, as many as there is time for; `finished` has them even after Ctrl-C."""
        lazy = get_active_backend()[0].supports_return_generator
        workers = self._workers(splits)
        parallel = Parallel(n_jobs=workers, return_as="generator" if lazy else "list", pre_dispatch="n_jobs")
        with Progress(bool(self.verbose), "cross-validating") as progress:
            for fold in parallel(self._tasks(job, splits, clock, workers)):
                finished.append(fold)
                progress.say(_standing(finished, len(splits), clock))

    def _workers(self, splits: list[Split]) -> int:
        """How many processes there are work for."""
        return max(min(int(effective_n_jobs(self.n_jobs)), len(splits)), 1)

    def _tasks(self, job: Job, splits: list[Split], clock: Clock, workers: int) -> Iterator[Any]:
        """One task per fold, each with its share of the time that is left when it is handed out."""
        for done, split in enumerate(splits):
            left = clock.until(_SHARE_OF_FOLDS)
            if left is not None and left <= 0.0 and done > 0:
                return
            rounds = math.ceil((len(splits) - done) / workers)
            yield delayed(run_fold)(job, split, None if left is None else left / rounds)

    def _record(self, candidates: Candidates, folds: list[Fold], planned: int) -> None:
        """Collect the folds' scores and choose a candidate."""
        self.n_splits_ = len(folds)
        self.cv_results_ = tabulate(candidates, folds)
        self._choose(candidates, choose(candidates, folds, self.fold_gap, self.one_standard_error))
        undone = [] if len(folds) == planned else [f"{planned - len(folds)} of {planned} folds were left out"]
        undone += _cut_short(candidates, folds, self.fold_gap, "in the folds")
        self._warn_of(undone)

    def _warn_of(self, undone: list[str]) -> None:
        """Say what there was no time for."""
        self.undone_ = ""
        if not undone:
            return
        limit = "" if self.time_limit is None else f" within its share of {self.time_limit:g} s"
        kind = "Cross-validation" if self.criterion is None else "The path"
        self.undone_ = f"{kind} did not get all done{limit}: {'; '.join(undone)}."
        advice = "Allow more time (time_limit), fewer candidates or smaller gammas."
        warnings.warn(f"{self.undone_} {advice}", EndedEarlyWarning, stacklevel=4)

    def _choose(self, candidates: Candidates, best: int) -> None:
        """Take a candidate, and say so if it lies at the edge of what was tried."""
        self.best_index_ = best
        self.best_params_ = candidates.params[best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        # the weakest ridges that are tried by default are where we would not go further
        given: dict[str, Any] = {"gamma": self.gamma, "refit_gamma": self.refit_gamma}
        ours = [name for name, value in given.items() if value is None or (type(value) is tuple and value == GAMMAS)]
        names = [name for name in candidates.tried if name not in ours]
        self.edges_ = at_edges(candidates, names, self.best_params_, self.n_features_in_)
        if self.edges_:
            warnings.warn(
                f"The choice lies at the edge of the grid: {'; '.join(self.edges_)}.", GridEdgeWarning, stacklevel=4
            )

    def _finish(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, seconds: float | None) -> None:
        """Fit the chosen candidate to all data in the time that is left."""
        limit = None if seconds is None else round(seconds, 3)
        self.best_estimator_ = self._best().set_params(proof=self.proof, time_limit=limit)
        self._adopt_model(self.best_estimator_.fit(X, y, sample_weight))

    def _keep(self, candidates: Candidates, finished: list[Fold], planned: int, data: tuple[Any, Any, Any]) -> None:
        """After Ctrl-C: results of what is finished, and a model of the best candidate so far."""
        if not finished:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever presses Ctrl-C knows
            self._record(candidates, finished, planned)
            self.undone_ = f"Interrupted: these are results of {len(finished)} of {planned} folds."
            if self.refit:
                self._finish(*data, _AFTER_INTERRUPT)

    def _fit_by_criterion(self, job: Job, X: Any, y: Any, sample_weight: npt.ArrayLike | None, clock: Clock) -> Self:
        """Choose by an information criterion on all data, without folds."""
        candidates = job.candidates
        given: Any = self.refit_gamma
        if given is None:  # a criterion always takes the weakest ridge, so folds have to choose that
            candidates = replace(candidates, refits=["cv"])
        template = clone(job.template).set_params(rel_gap=self.rel_gap)
        scored = score_by_criterion(str(self.criterion), job.data, template, candidates, clock.until(_SHARE_OF_PATH))
        self.n_splits_, self.undone_ = 0, ""
        self.cv_results_ = {**tabulate(candidates, [scored]), "criterion": -scored.scores}
        del self.cv_results_["split0_test_score"]
        self._choose(candidates, int(np.argmax(scored.scores)))
        self._warn_of(_cut_short(candidates, [scored], self.rel_gap, "of all data"))
        if self.refit:
            self._finish(X, y, sample_weight, clock.remaining)
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
        return self._adopt_model(self.best_estimator_)

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

    def _adopt_model(self, model: L0LogisticRegression) -> Self:
        """Show the final model's attributes as one's own."""
        for name, value in vars(model).items():
            if name.endswith("_") and not name.startswith("__"):
                setattr(self, name, value)
        self._positive_label = model._positive_label
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Without a refit there are results, but no model."""
        return hasattr(self, "coef_")


def _standing(finished: list[Fold], planned: int, clock: Clock) -> str:
    """Where a cross-validation stands."""
    fits = finished[0].scores.size
    left = clock.elapsed / len(finished) * (planned - len(finished))
    limit = clock.until(_SHARE_OF_FOLDS)
    left = left if limit is None else min(left, limit)
    done = f"{len(finished) * fits:,} of {planned * fits:,} fits, {len(finished)} of {planned} folds done"
    return f"{done}, about {left:.0f} s left"


def _cut_short(candidates: Candidates, folds: list[Fold], gap: float, where: str) -> list[str]:
    """How many searches ended before their gap, if any; ridges of the estimates share a search."""
    short = np.array([fold.gaps for fold in folds])[:, :: len(candidates.refits)] > gap
    if not short.any():
        return []
    return [
        f"{np.count_nonzero(short)} of {short.size} searches {where} ended before their gap of {gap:g}, and their "
        "scores are those of the best models found"
    ]
