"""scikit-learn estimators around `solve` and `screen`.

The estimators add what scikit-learn's users expect, input checks in its wording, class weights, original labels,
feature names, and nothing to the mathematics: the problem solved is exactly a `Problem`. What comes after it, the
coefficients at a ridge of their own, is `safescreen.estimation`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.defaults import GAMMA, REFIT_GAMMA
from safescreen.estimation import Estimate, check_refit_gamma, estimate
from safescreen.estimators.cautions import warn_of_one_class, warn_of_scales
from safescreen.estimators.checking import checked
from safescreen.estimators.copies import groups_of, settle_copies, warn_of_copies
from safescreen.estimators.labels import adopt_classes, is_second, true_labels
from safescreen.estimators.readable import Readable
from safescreen.estimators.selection import Selection
from safescreen.estimators.shared import make_problem, mask
from safescreen.prediction import linear_predictor, probabilities
from safescreen.problem.terms import Features
from safescreen.search import solve
from safescreen.search.interrupts import raising_interrupts
from safescreen.search.solution import Moment, Solution
from safescreen.status import Status

SEARCH = ("rel_gap", "time_limit", "node_limit", "screening", "n_threads", "memory_limit")
"""Parameters of an estimator that go to `solve` as they are."""


class EndedEarlyWarning(ConvergenceWarning):  # type: ignore[misc]
    """A search ended before the requested gap was reached; the message says how far the model is proved."""


class L0LogisticRegression(Readable, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression with the provably best subset of features.

    The features are **chosen** by minimising ``Σ wᵢ log(1 + exp(-yᵢ(aᵢ·x + b))) + ‖x‖²/gamma + mu ‖x‖₀`` subject to
    ``‖x‖₀ ≤ k`` by branch and bound, with weights that sum to one: the proof says that no other choice has a lower
    objective. Their coefficients are then **estimated** at a ridge of their own, `refit_gamma`, because the ridge at
    which choices can be proved shrinks coefficients too much to predict well.

    Parameters
    ----------
    k : int, optional
        Budget of features, at least 1; more than there are features means no limit.
    mu : float, optional
        Price of a feature, at least 0. With neither `k` nor `mu`, a budget of ``min(10, n_features)`` features is
        used (or as many as are included); with both, both hold.
    gamma : float, default 3.0
        Ridge of the choice, positive: the penalty is ``‖x‖²/gamma``, so small values shrink more, and make proofs
        easier. The proof speaks of this ridge.
    refit_gamma : float, "auto", "same" or "cv", default "auto"
        Ridge at which the coefficients of the chosen features are estimated. ``"auto"`` is 30, or `gamma` if that is
        weaker; ``"same"`` keeps those of the choice; ``"cv"`` takes the ridge, at least as weak as that of the choice,
        with the best log-loss in five folds.
    fit_intercept : bool, default True
        Whether to add an unpenalised intercept.
    standardize : bool, default True
        Whether to centre the features and scale them to unit variance inside the problem, so that the ridge treats
        them alike. Coefficients are reported in the units of the data all the same.
    class_weight : dict or "balanced", optional
        Factors on the weights of each class's samples; ``"balanced"`` gives both classes the same total weight. With
        three or more labels the keys are the two classes that are modelled, as in `classes_`.
    positive_class : label, optional
        The label whose log-odds `coef_` and `intercept_` describe; by default the larger of two. With three or more
        labels it is needed, and all others together are the negative class.
    include, exclude : feature or iterable of features, optional
        Features decided beforehand, by index or by column name. Included features pay their price and count in the
        budget whatever their coefficient.
    copies : {"one", "allow"}
        Whether only one of several columns that are copies of one another may be chosen: the first, unless `include`
        or `exclude` say otherwise. Copies are columns of other scale and offset as well, without `standardize` only
        equal ones. A `CopiesWarning` tells if a chosen feature has copies.
    rel_gap : float, default 1e-4
        Stop once ``(objective_ - lower_bound_) / objective_`` is at most this.
    time_limit : float, optional
        Seconds, compilation excluded. A limit that ends the search early gives an `EndedEarlyWarning` (a
        `ConvergenceWarning`) and the best model found.
    node_limit : int, optional
        Nodes of the search tree: unlike a time limit, the same every time.
    screening : {"nodes", "root", "none"}
        Screen at the root and in every node, at the root only, or not at all.
    n_threads : int, default 1
        Threads that explore the search tree.
    memory_limit : float, optional
        Gigabytes of memory to work with beside the data; by default one, and a quarter of the size of the data.
    warm_start : bool, default False
        Whether `fit` tries the features of the previous fit first. The answer has the same guarantee either way.
    proof : str or path-like, optional
        Where `fit` writes a proof of its answer, for :func:`safescreen.verify`. Not part of a saved model.
    callback : callable, optional
        Called with the state of the search a few dozen times a second; returning True ends it. See `solve`.
    verbose : int, default 0
        Whether to show on standard error where the search stands, as `solve` does with ``progress=True``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients in the units of the data, estimated at `refit_gamma`: what predictions are made with.
    intercept_ : ndarray of shape (1,)
        Intercept in the units of the data. With ``standardize=True`` it carries the centring.
    selection_ : Selection
        The model that the proof is about: the same features with their coefficients at `gamma`.
    estimate_ : Estimate
        The estimates with what is needed to read them: the ridge used, means, deviations, shrinkage.
    classes_ : ndarray of shape (2,)
        The labels, sorted. With three or more labels in `fit` they are the positive one and ``"not "`` with its name,
        or False and True if labels are no strings.
    positive_class_ : label
        The one of `classes_` whose log-odds `coef_` and `intercept_` describe.
    support_ : ndarray of int
        Indices of the chosen features, sorted.
    copies_ : list of ndarray of int
        Groups of features that are copies of one another, in each the one first that stands for the others. Of a loaded
        model only those with a chosen feature.
    objective_ : float
        Objective of the choice (of ``selection_``, at `gamma`), rounded up.
    lower_bound_ : float
        No model has a smaller objective; holds in real arithmetic.
    gap_ : float
        ``(objective_ - lower_bound_) / objective_``.
    status_ : str
        ``"optimal"``, or why the search ended before that; see `Solution`.
    n_iter_ : int
        Nodes of the search tree, at least 1 because the root always counts.
    solution_ : Solution or None
        The result of `solve`. It refers to the training data, so it stays behind when a model is pickled, copied or
        saved: there it is None.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the features, if the data had any.

    See Also
    --------
    SafeScreener : Only remove the features that are provably useless.
    safescreen.save_model : Write a fitted model to a JSON file.

    Notes
    -----
    Two classes are modelled. With more labels, `positive_class` names the one to tell from the rest, and
    `sklearn.multiclass.OneVsRestClassifier` does so with each in turn.

    Ctrl-C in `fit` raises ``KeyboardInterrupt``, so that loops and grid searches stop; `solve` returns the best model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safescreen import L0LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = L0LogisticRegression(k=3).fit(X, y)
    >>> model.status_, model.support_.size
    ('optimal', 3)
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        mu: float | None = None,
        gamma: float = GAMMA,
        refit_gamma: float | str = REFIT_GAMMA,
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
        memory_limit: float | None = None,
        warm_start: bool = False,
        proof: str | PathLike[str] | None = None,
        callback: Callable[[Moment], bool | None] | None = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.mu = mu
        self.gamma = gamma
        self.refit_gamma = refit_gamma
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
        self.memory_limit = memory_limit
        self.warm_start = warm_start
        self.proof = proof
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Find the best model and prove how good it is.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Two labels of any kind, or more with `positive_class`.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight zero counts as absent.

        Returns
        -------
        L0LogisticRegression
            The fitted estimator.
        """
        check_refit_gamma(self.refit_gamma)
        problem = settle_copies(self.copies, make_problem(self, X, y, sample_weight))
        warn_of_scales(problem, stacklevel=2)
        with raising_interrupts():
            solution = solve(
                problem,
                **{name: getattr(self, name) for name in SEARCH},
                warm_start=self._previous_coef(problem.n_features),
                progress=bool(self.verbose),
                proof=self.proof,
                callback=self.callback,
            )
        if solution.status != Status.OPTIMAL:
            warnings.warn(_shortfall(solution, self.rel_gap), EndedEarlyWarning, stacklevel=2)
        warn_of_copies(self.copies, solution, stacklevel=2)
        self._adopt(solution)
        warn_of_one_class(solution, self.estimate_, stacklevel=2)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of ``classes_[1]``, as scikit-learn has it, whichever class is positive.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or frame, of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where ``classes_[1]`` is predicted.
        """
        check_is_fitted(self)
        X = checked(self, X, accept_sparse="csr", reset=False)
        log_odds = linear_predictor(X, self.coef_[0], float(self.intercept_[0]))
        return log_odds if is_second(self) else -log_odds

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The more probable label of each sample.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or frame, of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        second = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[second.astype(np.intp)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of both classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or frame, of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Each one accurate even when it is tiny.
        """
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of the probabilities, finite even where a probability underflows.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or frame, of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Log-probabilities in the order of ``classes_``.
        """
        log_odds = self.decision_function(X)
        return -np.column_stack((np.logaddexp(0.0, log_odds), np.logaddexp(0.0, -log_odds)))

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Share of labels predicted correctly.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or frame, of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels, as given to `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self)
        return float(super().score(X, true_labels(self, y), sample_weight))

    def get_support(self, indices: bool = False) -> BoolArray | IndexArray:
        """The chosen features.

        Parameters
        ----------
        indices : bool, default False
            Whether to return indices instead of a mask.

        Returns
        -------
        ndarray
            Mask of shape (n_features,), or sorted indices.
        """
        check_is_fitted(self)
        if indices:
            return np.array(self.support_)
        return mask(self.support_, self.n_features_in_)

    def _previous_coef(self, n_features: int) -> FloatArray | None:
        """The coefficients to start from, if the user wants that and the last fit was on as many features."""
        if not self.warm_start or not hasattr(self, "selection_") or self.selection_.coef.shape != (n_features,):
            return None
        return self.selection_.coef

    def _adopt(self, solution: Solution) -> Self:
        """Estimate on a solution's features, and show both as scikit-learn's attributes."""
        estimates = estimate(solution, self.refit_gamma)
        adopt_classes(self, solution.problem)
        self.coef_ = estimates.coef(solution.problem.n_features)[None, :]
        self.intercept_ = np.array([estimates.intercept])
        self.estimate_: Estimate = estimates
        self.selection_ = Selection.of(solution)
        self.copies_ = groups_of(solution)
        self.support_ = np.array(solution.support)
        self.objective_ = solution.objective
        self.lower_bound_ = solution.lower_bound
        self.gap_ = solution.gap
        self.status_: str = solution.status
        self.n_iter_ = max(solution.nodes, 1)
        self.solution_: Solution | None = solution
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave the solution behind: a pickled model must not carry the training data along."""
        state = dict(super().__getstate__())
        if "solution_" in state:
            state["solution_"] = None
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def _shortfall(solution: Solution, rel_gap: float) -> str:
    """What a user should know about a search that ended early."""
    return (
        f"The search ended early (status {solution.status!r}) with a gap of {solution.gap:.3g}, above "
        f"rel_gap={rel_gap:g}: the model is the best one found (objective {solution.objective:.6g}), and no model has "
        f"an objective below {solution.lower_bound:.6g}. Allow more time, a larger gap or a smaller gamma."
    )
