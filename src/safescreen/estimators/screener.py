"""`SafeScreener`: a transformer that keeps what no proof rules out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from safescreen.arrays import BoolArray
from safescreen.cores import Core, core
from safescreen.defaults import GAMMA
from safescreen.estimators.checking import refuse_misread
from safescreen.estimators.shared import make_problem, mask
from safescreen.problem.terms import Features
from safescreen.problem.validation import check_sparse
from safescreen.screening import Screening
from safescreen.search import screen


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
    gamma : float, default 3.0
        Ridge parameter, positive: the penalty is ``‖x‖²/gamma``. Smaller values let more features be ruled out.
    fit_intercept : bool, default True
        Whether the model has an unpenalised intercept.
    standardize : bool, default True
        Whether features are centred and scaled inside the problem. `transform` never changes values.
    class_weight : dict or "balanced", optional
        Factors on the weights of each class's samples; ``"balanced"`` gives both classes the same total weight.
    positive_class : label, optional
        The label that is modelled; by default the larger of two. With three or more labels it is needed, and all others
        together are the negative class.
    include, exclude : feature or iterable of features, optional
        Features decided beforehand, by index or by column name. Included features pay their price and count in the
        budget whatever their coefficient.
    memory_limit : float, optional
        Gigabytes of memory to work with beside the data; by default one, and a quarter of the size of the data.

    Attributes
    ----------
    support_ : ndarray of int
        Indices of the features kept, sorted: those that no proof rules out. `get_support` has them as a mask.
    included_ : ndarray of int
        Features in every optimal model.
    excluded_ : ndarray of int
        Features in no optimal model: those removed.
    positive_class_ : label
        The label that is modelled.
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
        gamma: float = GAMMA,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        positive_class: Any = None,
        include: Features = (),
        exclude: Features = (),
        memory_limit: float | None = None,
    ) -> None:
        self.k = k
        self.mu = mu
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.positive_class = positive_class
        self.include = include
        self.exclude = exclude
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Prove what can be proved before any search.

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
        SafeScreener
            The fitted screener.
        """
        problem = make_problem(self, X, y, sample_weight)
        self.screening_: Screening = screen(problem, memory_limit=self.memory_limit)
        self.positive_class_ = problem.positive_class
        self.included_ = self.screening_.included
        self.excluded_ = self.screening_.excluded
        self.support_ = np.setdiff1d(np.arange(problem.n_features), self.excluded_)
        return self

    def transform(self, X: Any) -> Any:
        """The features that cannot be ruled out.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray, SciPy sparse matrix or frame, of shape (n_samples, n_selected_features)
            The same samples.
        """
        refuse_misread(X)
        return super().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """The samples with columns of zeros where features were ruled out.

        Parameters
        ----------
        X : array-like or SciPy sparse matrix, of shape (n_samples, n_selected_features)
            Samples as `transform` gives them.

        Returns
        -------
        ndarray or SciPy sparse matrix, of shape (n_samples, n_features)
            The same samples.
        """
        check_sparse(X)
        return super().inverse_transform(X)

    def core(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        within: float = 0.05,
        at_least: int = 1,
    ) -> Core:
        """Features of which every model within a tolerance of the best uses at least one, or two, ...

        Where single features cannot be decided, groups of them often can: see :func:`safescreen.core`. It asks about
        the problem that `fit` screens, and changes nothing that was fitted.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Two labels of any kind, or more with `positive_class`.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight zero counts as absent.
        within : float, default 0.05
            How much worse than the best a model may be, relative to the best objective.
        at_least : int, default 1
            How many of the features every such model uses.

        Returns
        -------
        Core
            The features, the most important first.
        """
        problem = make_problem(clone(self), X, y, sample_weight)
        return core(problem, within=within, at_least=at_least, memory_limit=self.memory_limit)

    def _get_support_mask(self) -> BoolArray:
        """What `SelectorMixin` builds everything else on."""
        check_is_fitted(self)
        return mask(self.support_, self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        """Sparse input, and a target that must have two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
