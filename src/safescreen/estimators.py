"""scikit-learn estimators around `solve` and `screen`.

The estimators add what scikit-learn's users expect, input checks in its wording, class weights, original labels,
feature names, and nothing to the mathematics: the problem solved is exactly a `Problem`.
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
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from safescreen.design import BoolArray, FloatArray, IndexArray
from safescreen.prediction import linear_predictor, probabilities
from safescreen.problem import Problem
from safescreen.screening import Screening, screen
from safescreen.search import solve
from safescreen.solution import Moment, Solution
from safescreen.status import Status
from safescreen.terms import Features, Terms
from safescreen.validation import check_selection, check_weights

DEFAULT_BUDGET = 10
"""Features allowed when the user gives neither a budget nor a price."""

SEARCH = ("rel_gap", "time_limit", "node_limit", "screening", "n_threads")
"""Parameters of an estimator that go to `solve` as they are."""


class EndedEarlyWarning(ConvergenceWarning):  # type: ignore[misc]
    """A search ended before the requested gap was reached; the message says how far the model is proved."""


class L0LogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression with the provably best subset of features.

    Minimises ``Σ wᵢ log(1 + exp(-yᵢ(aᵢ·x + b))) + ‖x‖²/gamma + mu ‖x‖₀`` subject to ``‖x‖₀ ≤ k`` by branch and
    bound, with weights that sum to one. The fitted model comes with a lower bound that no other model can beat.

    Parameters
    ----------
    k : int, optional
        Budget of features, at least 1; more than there are features means no limit.
    mu : float, optional
        Price of a feature, at least 0. With neither `k` nor `mu`, a budget of ``min(10, n_features)`` features is
        used (or as many as are included); with both, both hold.
    gamma : float, default 1.0
        Ridge parameter, positive: the penalty is ``‖x‖²/gamma``, so small values shrink more.
    fit_intercept : bool, default True
        Whether to add an unpenalised intercept.
    standardize : bool, default True
        Whether to centre the features and scale them to unit variance inside the problem, so that the ridge treats
        them alike. Coefficients are reported in the units of the data all the same.
    class_weight : dict or "balanced", optional
        Factors on the weights of each class's samples; ``"balanced"`` gives both classes the same total weight.
    include, exclude : feature or iterable of features, optional
        Features decided beforehand, by index or by column name. Included features pay their price and count in the
        budget whatever their coefficient.
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
    warm_start : bool, default False
        Whether `fit` tries the features of the previous fit first. The answer has the same guarantee either way.
    proof : str or path-like, optional
        Where `fit` writes a proof of its answer, for :func:`safescreen.verify`. Not part of a saved model.
    callback : callable, optional
        Called with the state of the search a few dozen times a second; returning True ends it. See `solve`.
    verbose : int, default 0
        Whether to show a status line on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients in the units of the data.
    intercept_ : ndarray of shape (1,)
        Intercept in the units of the data. With ``standardize=True`` it carries the centring.
    classes_ : ndarray of shape (2,)
        The labels; the second one is the positive class.
    support_ : ndarray of int
        Indices of the chosen features, sorted.
    objective_ : float
        Objective of the model, rounded up.
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
    Two classes are supported; for more, wrap the estimator in `sklearn.multiclass.OneVsRestClassifier`.

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
        gamma: float = 1.0,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        include: Features = (),
        exclude: Features = (),
        rel_gap: float = 1e-4,
        time_limit: float | None = None,
        node_limit: int | None = None,
        screening: str = "nodes",
        n_threads: int = 1,
        warm_start: bool = False,
        proof: str | PathLike[str] | None = None,
        callback: Callable[[Moment], bool | None] | None = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.mu = mu
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.include = include
        self.exclude = exclude
        self.rel_gap = rel_gap
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.screening = screening
        self.n_threads = n_threads
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
            Any two labels.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight zero counts as absent.

        Returns
        -------
        L0LogisticRegression
            The fitted estimator.
        """
        problem = make_problem(self, X, y, sample_weight)
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
        return self._adopt(solution)

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of the positive class, ``classes_[1]``.

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
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return linear_predictor(X, self.coef_[0], float(self.intercept_[0]))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The more probable label of each sample.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or frame, of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels as given to `fit`.
        """
        positive = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[positive.astype(np.intp)])

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
        return _mask(self.support_, self.n_features_in_)

    def _previous_coef(self, n_features: int) -> FloatArray | None:
        """The coefficients to start from, if the user wants that and the last fit was on as many features."""
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape != (1, n_features):
            return None
        return np.asarray(self.coef_[0], dtype=np.float64)

    def _adopt(self, solution: Solution) -> Self:
        """Show a solution as scikit-learn's attributes."""
        self.classes_ = solution.problem.classes
        self.coef_ = np.array([solution.coef])
        self.intercept_ = np.array([solution.intercept])
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


class SafeScreener(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Remove the features that are provably in no optimal sparse logistic model.

    What is removed is certain, but certain about one problem only: the one `L0LogisticRegression` solves on these
    data with these parameters. No optimal model of that problem uses a removed feature. About other classifiers
    behind the screener, other parameters or other samples it proves nothing, though features without use for the
    best sparse logistic model are often of little use elsewhere. What is kept has not been shown to be useful,
    except for the features in `included_`.

    Parameters
    ----------
    k : int, optional
        Budget of features, at least 1.
    mu : float, optional
        Price of a feature, at least 0. With neither `k` nor `mu`, a budget of ``min(10, n_features)`` features is
        used; with both, both hold.
    gamma : float, default 1.0
        Ridge parameter, positive: the penalty is ``‖x‖²/gamma``. Smaller values let more features be ruled out.
    fit_intercept : bool, default True
        Whether the model has an unpenalised intercept.
    standardize : bool, default True
        Whether features are centred and scaled inside the problem. `transform` never changes values.
    class_weight : dict or "balanced", optional
        Factors on the weights of each class's samples; ``"balanced"`` gives both classes the same total weight.
    include, exclude : feature or iterable of features, optional
        Features decided beforehand, by index or by column name. Included features pay their price and count in the
        budget whatever their coefficient.

    Attributes
    ----------
    support_ : ndarray of int
        Indices of the features kept, sorted: those that no proof rules out. `get_support` has them as a mask.
    included_ : ndarray of int
        Features in every optimal model.
    excluded_ : ndarray of int
        Features in no optimal model: those removed.
    screening_ : Screening
        The decisions with their margins and bounds.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the features, if the data had any.

    See Also
    --------
    L0LogisticRegression : Solve the problem to proved optimality.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safescreen import SafeScreener
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> screener = SafeScreener(mu=0.01, gamma=10.0).fit(X, y)
    >>> screener.transform(X).shape[1] == X.shape[1] - screener.excluded_.size
    True
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        mu: float | None = None,
        gamma: float = 1.0,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        include: Features = (),
        exclude: Features = (),
    ) -> None:
        self.k = k
        self.mu = mu
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.include = include
        self.exclude = exclude

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Prove what can be proved before any search.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Any two labels.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight zero counts as absent.

        Returns
        -------
        SafeScreener
            The fitted screener.
        """
        problem = make_problem(self, X, y, sample_weight)
        self.screening_: Screening = screen(problem)
        self.included_ = self.screening_.included
        self.excluded_ = self.screening_.excluded
        self.support_ = np.setdiff1d(np.arange(problem.n_features), self.excluded_)
        return self

    def _get_support_mask(self) -> BoolArray:
        """What `SelectorMixin` builds everything else on."""
        check_is_fitted(self)
        return _mask(self.support_, self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        """Sparse input, and a target that must have two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def make_problem(
    estimator: L0LogisticRegression | SafeScreener, X: Any, y: Any, sample_weight: npt.ArrayLike | None
) -> Problem:
    """Check the data as scikit-learn does, and state the estimator's problem for them."""
    X, y = validate_data(estimator, X, y, accept_sparse="csc", dtype="numeric")
    weights = check_weights(sample_weight, X.shape[0])
    check_binary(y, weights)
    if estimator.class_weight is not None:
        sample_weight = weights * _class_factors(estimator.class_weight, y, weights)
    terms = {name: getattr(estimator, name) for name in Terms.names()}
    if terms["k"] is None and terms["mu"] is None:
        terms["k"] = default_budget(terms["include"], X.shape[1])
    names = getattr(estimator, "feature_names_in_", None)
    return Problem(X, y, **terms, sample_weight=sample_weight, feature_names=names)


def default_budget(include: Features, n_features: int) -> int:
    """The budget when the user gives neither a budget nor a price: with room for the features required."""
    required = len(set(check_selection("include", include)))
    return max(min(DEFAULT_BUDGET, n_features), required)


def check_binary(y: npt.NDArray[Any], weights: FloatArray) -> None:
    """Refuse more than two classes in scikit-learn's words; rows of weight zero have no say."""
    check_classification_targets(y)
    counted = y[weights > 0.0]
    kind = type_of_target(counted, input_name="y")
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: y has "
            f"{np.unique(counted).size} classes; for more than two, wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier."
        )


def _class_factors(class_weight: Any, y: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
    """The factor on each sample's weight.

    Balance is about total weight rather than the number of rows, so that a weight of two still means a sample seen
    twice.
    """
    classes, codes = np.unique(y, return_inverse=True)
    factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), dtype=np.float64)
    if not (factors >= 0.0).all():
        raise ValueError(f"class_weight is {class_weight!r}, but weights must be numbers >= 0.")
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights=weights, minlength=classes.size)
        factors = np.divide(1.0, totals, out=np.zeros(classes.size), where=totals > 0.0)
    return factors[codes]


def _mask(indices: IndexArray, size: int) -> BoolArray:
    mask = np.zeros(size, dtype=np.bool_)
    mask[indices] = True
    return mask


def _shortfall(solution: Solution, rel_gap: float) -> str:
    """What a user should know about a search that ended early."""
    return (
        f"The search ended early (status {solution.status!r}) with a gap of {solution.gap:.3g}, above "
        f"rel_gap={rel_gap:g}: the model is the best one found (objective {solution.objective:.6g}), and no model has "
        f"an objective below {solution.lower_bound:.6g}. Allow more time, a larger gap or a smaller gamma."
    )
