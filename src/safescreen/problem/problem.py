"""The problem: data, price, budget and ridge, checked once and never changed.

    min  Σ_i w_i log(1 + exp(-y_i (A_i x + b))) + ‖x‖²/γ + μ ‖x‖₀    subject to  ‖x‖₀ ≤ k

``A`` is the matrix as given, or its standardised form; ``x`` and ``b`` belong to ``A``, while users see
``coef`` and ``intercept`` in the units of their own data.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.design import Design, make_design
from safescreen.problem.copies import counted, represented, sentence, superfluous, told, touching
from safescreen.problem.labels import Classes, is_against_rest, shown
from safescreen.problem.loss import LOGISTIC, Loss
from safescreen.problem.terms import Features, Terms
from safescreen.problem.validation import (
    check_and_sum,
    check_finite,
    check_labels,
    check_names,
    check_numbers,
    check_weights,
)
from safescreen.rounding import UNIT


class Problem:
    """Sparse logistic regression with a price per feature, a budget of features, or both.

    Parameters
    ----------
    X : array-like, SciPy sparse matrix, frame, data on disk, device array or dask array, (n_samples, n_features)
        Any real dtype and memory order. Arrays are referenced, not copied, and must not be changed while the
        problem is in use; sparse matrices are never densified. The column names of a pandas or polars frame are kept.
        Data on disk may be larger than memory: a ``numpy.memmap``, a Zarr array, or a Parquet file, dataset or table
        of Arrow, read in blocks whenever something is asked. Only then is it seen whether all their entries are finite.
        A CuPy array or a tensor of torch is read on its device, a ``dask.array`` where its chunks are.
    y : array-like of shape (n_samples,)
        Two labels of any kind, or more if `positive_class` says which of them is to be told from the rest.
    mu : float, optional
        Price of a feature, at least 0. Without it a feature is free.
    k : int, optional
        Budget of features, at least 1. Without it there is no limit.
    gamma : float, default 1.0
        Ridge parameter, positive: the penalty is ``‖x‖²/gamma``, so small values shrink more.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights, normalised to sum to one; a row of weight zero counts as absent.
    fit_intercept : bool, default True
        Whether to add an unpenalised intercept.
    standardize : bool, default True
        Whether to centre the features and scale them to unit variance, without copying the matrix.
        Constant columns are then excluded.
    include, exclude : feature or iterable of features, optional
        Features decided beforehand, by index or by column name. Included features pay their price and count
        in the budget whatever their coefficient.
    feature_names : iterable of str, optional
        One name per feature, for data without column names of its own (or instead of them).
    positive_class : label, optional
        The label whose probability is modelled; by default the larger of two. With three or more labels it is needed,
        and all others together are the negative class.

    Attributes
    ----------
    design : Design
        The matrix.
    y : ndarray of shape (n_samples,)
        Labels as -1.0 and 1.0.
    weights : ndarray of shape (n_samples,)
        Sample weights, summing to one.
    classes : ndarray of shape (2,)
        The labels of -1 and 1: the negative and the positive class. Of three or more labels, the negative class is
        called ``"not "`` and the positive label; where labels are no strings, the classes are False and True.
    positive_class : label
        The label that is modelled, as it is in ``y``.
    class_names : tuple of str
        Both classes in words, the negative one first.
    modelled : str
        What is modelled, in words.
    terms : Terms
        Everything but the data, with features as indices; all that shows or stores a problem iterates over it.
    mu : float
        Price, 0.0 if there is none.
    k : int
        Budget, at most `n_features`.
    gamma : float
        Ridge parameter.
    fit_intercept, standardize : bool
        As given.
    include, exclude : ndarray of int
        The user's choices as sorted indices.
    feature_names : ndarray of str, or None
        Names of the features, if there are any.
    copies : list of ndarray of int
        Groups of features that are copies of one another, found when first asked for.
    one_of_copies : bool
        Whether only one of several copies may be chosen, as `without_copies` has it.
    left_out : ndarray of int
        The features that are excluded for that reason.
    n_samples, n_features : int
        Shape of ``X``.

    Raises
    ------
    ValueError, TypeError
        One sentence that names the argument, the value and what is allowed.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(50, 20, 3, 1.0, random_state=0)
    >>> ss.Problem(X, y, k=3)
    Problem(50 samples, 20 features, k=3, gamma=1, with intercept, standardised)
    """

    loss: Loss = LOGISTIC
    design: Design
    y: FloatArray
    weights: FloatArray
    classes: npt.NDArray[Any]
    positive_class: Any
    one_of_copies: bool
    left_out: IndexArray
    terms: Terms
    mu: float
    k: int
    gamma: float
    fit_intercept: bool
    standardize: bool
    include: IndexArray
    exclude: IndexArray
    feature_names: npt.NDArray[np.object_] | None
    n_samples: int
    n_features: int

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        mu: float | None = None,
        k: int | None = None,
        gamma: float = 1.0,
        sample_weight: npt.ArrayLike | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        include: Features = (),
        exclude: Features = (),
        feature_names: Iterable[str] | None = None,
        positive_class: Any = None,
    ) -> None:
        stated = Terms(
            mu=mu,
            k=k,
            gamma=gamma,
            fit_intercept=fit_intercept,
            standardize=standardize,
            include=include,
            exclude=exclude,
        )
        matrix, names, sums = check_and_sum(X)
        n_samples, n_features = matrix.shape
        names = names if feature_names is None else check_names(feature_names, n_features)
        weights = check_weights(sample_weight, n_samples)
        labels, classes = check_labels(y, weights, positive_class)
        terms = stated.for_data(n_features, names)
        vars(self).update(
            design=make_design(matrix, weights, terms.standardize, sums),
            y=labels,
            weights=weights,
            classes=classes.pair,
            positive_class=classes.positive,
            feature_names=names,
            one_of_copies=False,
            left_out=np.empty(0, dtype=np.int64),
            n_samples=n_samples,
            n_features=n_features,
        )
        self._take(terms)

    def _take(self, terms: Terms) -> None:
        """Each term as an attribute, in the form computations need."""
        values = terms.asdict()
        values["mu"] = 0.0 if terms.mu is None else terms.mu
        values["k"] = self.n_features if terms.k is None else terms.k
        arrays = {name: np.array(value, dtype=np.int64) for name, value in values.items() if isinstance(value, tuple)}
        vars(self).update({"terms": terms, **values, **arrays})

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Problem is immutable, so {name} cannot be set: make a new Problem instead.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Problem is immutable, so {name} cannot be deleted.")

    def __repr__(self) -> str:
        chosen = f", {shown(self.positive_class)} modelled" if self._is_named else ""
        return f"Problem({self.n_samples:,} samples, {self.n_features:,} features, {self.describe()}{chosen})"

    def _repr_html_(self) -> str:
        from safescreen.formatting.cards import problem_card

        return problem_card(self)

    @property
    def class_names(self) -> tuple[str, str]:
        """Both classes in words, the negative one first."""
        return Classes(self.classes, self.positive_class).names

    @property
    def stated_classes(self) -> tuple[Any, Any]:
        """Both classes for a record: labels as in the data, or what the positive one is told from."""
        negative, positive = self.classes[0], self.positive_class
        return f"not {positive}" if is_against_rest(negative, positive) else negative, positive

    @property
    def modelled(self) -> str:
        """What is modelled, in words."""
        positive = int(np.count_nonzero(self.y > 0.0))
        return f"probability of {shown(self.positive_class)} ({positive:,} of {self.n_samples:,} rows)"

    @property
    def _is_named(self) -> bool:
        """Whether the positive class is another than the larger of two labels, which goes without saying."""
        negative, positive = self.classes
        return is_against_rest(negative, self.positive_class) or bool(negative > positive)

    @cached_property
    def included(self) -> BoolArray:
        """Mask of the features the user includes."""
        mask = np.zeros(self.n_features, dtype=np.bool_)
        mask[self.include] = True
        return mask

    @cached_property
    def excluded(self) -> BoolArray:
        """Mask of the features the user excludes, and of constant columns unless the user includes them."""
        mask: BoolArray = self.design.constant & ~self.included
        mask[self.exclude] = True
        return mask

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """SHA-256 of matrix, labels and weights: what a proof knows its data by."""
        return {"matrix": self.design.fingerprint, **self.fingerprint_of_samples}

    @cached_property
    def fingerprint_of_samples(self) -> dict[str, str]:
        """Those of labels and weights, which take no time."""
        parts: dict[str, npt.NDArray[Any]] = {"labels": self.y.astype(np.int8), "weights": self.weights}
        return {name: hashlib.sha256(part.data).hexdigest() for name, part in parts.items()}

    def with_parameters(self, *, mu: float | None = None, k: int | None = None, gamma: float | None = None) -> Problem:
        """The same data with another price, budget or ridge.

        Everything that depends on the matrix alone (means, scales, norms, error bounds) is shared, not computed again.

        Parameters
        ----------
        mu : float, optional
            New price; by default the old one.
        k : int, optional
            New budget; by default the old one.
        gamma : float, optional
            New ridge parameter; by default the old one.

        Returns
        -------
        Problem
            A new problem; this one is unchanged.
        """
        terms = self.terms.with_changes(mu=mu, k=k, gamma=gamma)
        return self._variant(terms, stale=("asked",))

    def with_decisions(self, include: Features = (), exclude: Features = ()) -> Problem:
        """The same problem with more features decided beforehand.

        Parameters
        ----------
        include, exclude : feature or iterable of features, optional
            By index or by name, beside those that are decided already.

        Returns
        -------
        Problem
            A new problem; the matrix is shared.
        """
        stated = replace(self.terms, include=include, exclude=exclude).for_data(self.n_features, self.feature_names)
        both = self.terms, stated
        more: dict[str, Any] = {
            name: tuple({j for terms in both for j in getattr(terms, name)}) for name in ("include", "exclude")
        }
        return self._variant(replace(self.terms, **more), stale=("asked", "included", "excluded", "copies"))

    def _variant(self, terms: Terms, stale: tuple[str, ...], **changes: Any) -> Problem:
        """The same data with other terms; ``stale`` are cached answers that may not hold any more."""
        variant = object.__new__(Problem)
        vars(variant).update({name: value for name, value in vars(self).items() if name not in stale} | changes)
        variant._take(terms.for_data(self.n_features, self.feature_names))
        return variant

    @cached_property
    def asked(self) -> Terms:
        """The terms as the user has them: `terms`, but for copies that are left out."""
        if not self.left_out.size:
            return self.terms
        return replace(self.terms, exclude=tuple(np.setdiff1d(self.exclude, self.left_out).tolist()))

    def describe(self, without: str = "") -> str:
        """The terms in words, but for one that varies."""
        copies = f", {counted(self.left_out.size)} left out" if self.left_out.size else ""
        return f"{self.asked.describe(without)}{copies}"

    @cached_property
    def copies(self) -> list[IndexArray]:
        """Groups of features that are copies of one another, in each the one first that stands for the others.

        With standardisation these are columns ``a x + b``; without, columns that are equal. Constant ones do not count.
        """
        decided = self.include.size or self.exclude.size
        groups = self.design.copies
        return [represented(group, self.included, self.excluded) for group in groups] if decided else [*groups]

    def without_copies(self) -> Problem:
        """The same problem in which only one of several copies may be chosen.

        Returns
        -------
        Problem
            A new problem, in which all features of each group in `copies` but the first are excluded, unless they are
            included. The matrix is shared.
        """
        if self.one_of_copies:
            return self
        left_out = np.setdiff1d(superfluous(self.copies, self.included), self.exclude)
        terms = replace(self.terms, exclude=tuple(np.union1d(self.exclude, left_out).tolist()))
        return self._variant(terms, stale=("asked", "excluded"), one_of_copies=True, left_out=left_out)

    def about_copies(self, support: npt.ArrayLike) -> str:
        """Which of these chosen features stand for others, in words without a full stop; empty if none does."""
        groups = [told(group, self.included) for group in self.copies_of(support)]
        return sentence([group for group in groups if group.size > 1], self.names, scaled=self.standardize)

    def copies_of(self, support: npt.ArrayLike) -> list[IndexArray]:
        """The groups in `copies` that have one of these features."""
        return touching(self.copies, support)

    def names(self, indices: npt.ArrayLike) -> list[str]:
        """Names of these features: column names where there are any, else ``x0``, ``x1``, ..."""
        chosen = np.asarray(indices, dtype=np.int64).reshape(-1).tolist()
        if self.feature_names is None:
            return [f"x{j}" for j in chosen]
        return [str(self.feature_names[j]) for j in chosen]

    def objective(self, coef: npt.ArrayLike, intercept: float = 0.0) -> float:
        """The full objective of a model: loss, ridge and price, rounded up.

        The value is never below the one in real arithmetic, so that it is a valid upper bound on the optimum
        whenever the model respects the budget. For ordinary data it is about 1e-14 (relative) above it.

        Parameters
        ----------
        coef : array-like of shape (n_features,)
            Coefficients in the units of the data.
        intercept : float, default 0.0
            Intercept in the units of the data; with ``standardize=True`` it carries the centring.

        Returns
        -------
        float
            Upper bound on the objective, tight up to rounding.
        """
        coef = check_numbers("coef", coef, self.n_features)
        intercept = check_finite("intercept", intercept)
        support = np.flatnonzero(coef != 0.0)
        x = coef[support] * self.design.scales[support] if support.size else coef[support]
        predictor, error = self._centred_predictor(support, coef[support], x, intercept)
        loss = self.loss.value_above(self.y, self.weights, predictor, error)
        ridge = math.fsum((x * x).tolist()) / self.gamma * (1.0 + 8.0 * UNIT)
        priced = np.union1d(support, self.include).size if self.include.size else support.size
        price = self.mu * priced * (1.0 + 2.0 * UNIT)
        return math.nextafter(math.fsum((loss, ridge, price)), math.inf) * (1.0 + 4.0 * UNIT)

    def to_data_units(self, x: npt.ArrayLike, b: float = 0.0) -> tuple[FloatArray, float]:
        """Translate a model of the (standardised) matrix into coefficients and intercept for the raw data."""
        x = np.asarray(x, dtype=np.float64)
        support = np.flatnonzero(x != 0.0)
        coef = np.zeros(x.size)
        coef[support] = x[support] / self.design.scales[support]
        offsets = self.design.means[support] * coef[support]
        return coef, math.fsum((float(b), *(-offsets).tolist()))

    def _centred_predictor(
        self, support: IndexArray, coef: FloatArray, x: FloatArray, intercept: float
    ) -> tuple[FloatArray, FloatArray]:
        """``A x + b`` on the support, and a bound on its error per sample.

        Working with centred columns avoids the cancellation between large means and the intercept. Without a
        fitted intercept ``b`` is zero but for the rounding of the intercept that carries the centring: it is
        taken as zero, and the error covers both readings.
        """
        if not support.size:  # this needs no look at the matrix
            return np.full(self.n_samples, intercept), np.full(self.n_samples, 16.0 * UNIT * abs(intercept))
        offsets = self.design.means[support] * coef
        b = math.fsum((intercept, *offsets.tolist()))
        b_error = 4.0 * UNIT * (abs(intercept) + math.fsum(np.abs(offsets).tolist()))
        if not self.fit_intercept and abs(b) <= b_error:
            b, b_error = 0.0, 2.0 * b_error
        block = self.design.columns(support)
        predictor = block @ x + b
        magnitude = np.abs(block, out=block) @ np.abs(x) + abs(b)
        return predictor, (support.size + 8) * UNIT * magnitude + 2.0 * b_error


def check_problem(problem: Any) -> None:
    """Refuse anything but a `Problem` with one sentence."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is a {type(problem).__name__}, but must be a Problem.")
