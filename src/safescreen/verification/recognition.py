"""Recognise the problem: a proof counts only if it is about the data at hand.

A file holds no data, but their fingerprints, and means and scales if the columns are standardised. Labels,
weights and matrix must have these fingerprints, unless the matrix was not hashed; means and scales are
computed again, as nothing else says that they are right.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from safescreen.verification.arithmetic import ROUNDOFF, Array, batches, passes
from safescreen.verification.reading import Arrays, Header, require


@dataclass(frozen=True)
class Terms:
    """Price μ, budget k, ridge γ, and what is decided about features from the start."""

    mu: float
    budget: int
    gamma: float
    fit_intercept: bool
    included: Array
    """Features that are in every model."""
    excluded: Array
    """Features that are in no model: excluded by the user, or constant and not included."""
    constant: Array
    """Columns that count as columns of zeros."""

    @property
    def n_features(self) -> int:
        """The n of the formulas."""
        return int(self.included.size)


@dataclass(frozen=True)
class Samples:
    """The samples that count: those of positive weight."""

    counted: Array
    """Which rows of the data these are."""
    weights: Array
    """The w of the formulas; they sum to one."""
    labels: Array
    """The y of the formulas: -1 and 1."""
    root_dual: Array
    """The dual point of the root."""

    @property
    def size(self) -> int:
        """The m of the formulas."""
        return int(self.weights.size)

    @property
    def dual_weights(self) -> Array:
        """The weights in the bounds: where one hardly exists, ``p = 0`` does, and nothing underflows."""
        return np.where(self.weights < 1e-290, 0.0, self.weights)


@dataclass(frozen=True)
class Columns:
    """The matrix ``A = (X - means) / scales``, which is never formed, and a norm of each of its columns.

    A column with an infinite scale is a column of zeros in ``A``.
    """

    X: Any
    means: Array
    scales: Array
    norms: Array
    """At least √(Σ w A²), and so at least Σ w |A|, because Σ w = 1."""

    def of(self, features: Array) -> Columns:
        """Some of the columns."""
        return Columns(columns_of(self.X, features), self.means[features], self.scales[features], self.norms[features])


@dataclass(frozen=True)
class StatedProblem:
    """The problem a proof states, about data that were recognised."""

    terms: Terms
    samples: Samples
    columns: Columns
    stated_means: Array
    """Those of the proof; in ``columns`` some are 0 and 1, where ``X`` was standardised already."""
    stated_scales: Array


def recognise_problem(
    header: Header,
    arrays: Arrays,
    X: Any,
    labels: Array,
    sample_weight: Array | None = None,
    positive_class: Any = None,
) -> StatedProblem:
    """The problem, if labels, weights, means and scales are those of the data.

    The fingerprint of the matrix is left to the caller, as it takes long to compute.
    """
    require((header["n_samples"], header["n_features"]) == X.shape, "The matrix has another shape.")
    terms = read_terms(header, arrays, X.shape[1])
    samples = recognise_samples(header, arrays, labels, sample_weight, positive_class)
    means = arrays.get("means", np.zeros(terms.n_features))
    scales = arrays.get("scales", np.ones(terms.n_features))
    one_each = means.size == scales.size == terms.n_features
    require(one_each and scales.min() > 0.0, "There is not one mean and scale per feature.")
    counted_rows = X if samples.counted.all() else X[samples.counted]
    columns = recognise_columns(counted_rows, means, scales, terms, samples.weights, header["standardize"])
    return StatedProblem(terms, samples, columns, means, scales)


# -- terms -------------------------------------------------------------------------------------------------


def read_terms(header: Header, arrays: Arrays, n_features: int) -> Terms:
    """The terms of the problem, which must make sense."""
    possible = header["mu"] >= 0.0 and header["gamma"] > 0.0 and header["k"] >= 1
    require(possible, "The header has an impossible mu, gamma or k.")
    budget = min(header["k"], n_features)
    included = mask_of(arrays["include"], n_features)
    excluded_by_user = mask_of(arrays["exclude"], n_features)
    constant = mask_of(arrays["constant"], n_features)
    require(not (included & excluded_by_user).any(), "A feature is both included and excluded.")
    require(np.count_nonzero(included) <= budget, "More features are included than the budget allows.")
    excluded = (excluded_by_user | constant) & ~included
    return Terms(header["mu"], budget, header["gamma"], header["fit_intercept"], included, excluded, constant)


def require_in_range(features: Array, n_features: int) -> None:
    """Features are counted from 0."""
    in_range = not features.size or 0 <= features.min() <= features.max() < n_features
    require(in_range, "A feature is out of range.")


def mask_of(features: Array, n_features: int) -> Array:
    """Which of all features these are."""
    require_in_range(features, n_features)
    mask = np.zeros(n_features, np.bool_)
    mask[features] = True
    return mask


# -- samples -----------------------------------------------------------------------------------------------


def recognise_samples(
    header: Header, arrays: Arrays, labels: Array, sample_weight: Array | None, positive_class: Any
) -> Samples:
    """Weights and signs of the samples, if they are those the proof was made for.

    A label that is neither class may occur where the weight is zero: such a sample is in no formula.
    """
    weights, root_dual = arrays["weights"], arrays["root_dual"]
    if not weights.size:
        weights = np.full(labels.size, 1.0 / labels.size)
    one_each = weights.size == root_dual.size == labels.size
    require(one_each, "There is not one weight and one dual number per sample.")
    require(root_dual.min() >= 0.0 and root_dual.max() <= 1.0, "The dual point of the root is not in [0, 1].")
    check_weights(weights, sample_weight)
    signs, recognised = signs_of(labels, header["classes"], positive_class)
    counted = weights > 0.0
    several = positive_class is None and len(set(labels[counted].tolist())) > 2
    advice = " Of more than two labels, positive_class must name the one that is modelled." if several else ""
    require_sealed("labels", signs, header, advice)
    require_sealed("weights", weights, header)
    require(recognised[counted].all(), f"The labels are not those of the proof.{advice}")
    return Samples(counted, weights[counted], signs[counted].astype(np.float64), root_dual[counted])


def check_weights(weights: Array, given: Array | None) -> None:
    """The weights of the proof are normalised, and proportional to those given, if any are."""
    normalised = weights.min() >= 0.0 and abs(math.fsum(weights) - 1.0) <= 1e-9
    require(normalised, "The weights are not normalised.")
    if given is not None:
        relative = given / given.max()
        expected = relative / relative.sum()
        same = np.abs(weights - expected) <= 1e-12 * expected
        require(same.all(), "The weights are not those of the proof.")


def signs_of(labels: Array, classes: list[Any], positive_class: Any = None) -> tuple[Array, Array]:
    """Labels as int8, 1 for the second class and -1 for any other; and whether each is of one of the classes.

    If the user says which label is positive, any other is negative: the fingerprint of the signs then decides
    whether the proof is about the same.
    """
    values = labels.tolist()
    if positive_class is not None:
        positive = np.array([value == positive_class for value in values], np.bool_)
        return np.where(positive, 1, -1).astype(np.int8), np.ones(labels.size, np.bool_)
    negative_class, positive_class = classes
    negative = np.array([value == negative_class for value in values], np.bool_)
    positive = np.array([value == positive_class for value in values], np.bool_)
    return np.where(positive, 1, -1).astype(np.int8), positive ^ negative


def require_sealed(name: str, array: Array, header: Header, advice: str = "") -> None:
    """The array has the fingerprint the header says it has."""
    same = hashlib.sha256(array.data).hexdigest() == header["fingerprint"].get(name)
    require(same, f"The {name} are not those of the proof.{advice}")


# -- columns -----------------------------------------------------------------------------------------------


def recognise_columns(X: Any, means: Array, scales: Array, terms: Terms, weights: Array, standardize: bool) -> Columns:
    """The columns of the problem, if means and scales are those of the data.

    Constant columns count as zero, and those that are out may; an infinite scale makes them so. The norms
    are computed from the sums of squares, rounded up, and cover what a mean may be off.

    A mean may be off by 1e-9 deviations, a few roundings of its own, and what the sums here may be off: these
    are sums of deviations where the mean is large, see below, so that they do not grow with it.
    """
    m = weights.size
    offset = np.abs(means) / scales
    check_constant_columns(X, terms.constant, 1e-9 + (m + 16) * ROUNDOFF * offset, standardize)
    mean_error = 1e-9 + 4.0 * ROUNDOFF * offset + 2.0 * (m + 16) * ROUNDOFF * np.minimum(offset + 1.0, 16.0)
    X, means, scales = standardise_difficult_columns(X, means, scales, terms.constant)
    mean, square = weighted_sums(X, weights)
    require(np.isfinite(square).all(), "The matrix has entries that are not finite or too large.")
    if standardize:
        total = weights.sum()
        mean_off = (mean - means * total) / scales
        variance = (square - means * (2.0 * mean - means * total)) / scales / scales
        variance_error = 3e-9 + 32.0 * (m + 16) * ROUNDOFF + np.minimum(mean_off * mean_off, 1.0)
        right = (np.abs(mean_off) <= mean_error) & (np.abs(variance - 1.0) <= variance_error)
        require((right | terms.constant).all(), "The means and scales are not those of the matrix.")
    scales = np.where(terms.constant | terms.excluded, np.inf, scales)
    norms = (np.sqrt(square + 1e-290) + np.abs(means)) * (1.0 + (m + 16) * ROUNDOFF + 1e-9) / scales
    return Columns(X, means, scales, norms)


def weighted_sums(X: Any, weights: Array) -> tuple[Array, Array]:
    """``Σ w_i X_ij`` and ``Σ w_i X_ij²`` of every column."""
    if is_sparse(X):
        return weights @ X, weights @ X.power(2)
    sums, squares = np.zeros((2, X.shape[1]))
    for rows in passes(*X.shape):
        sums += weights[rows] @ X[rows]
        squares += np.einsum("i,ij,ij->j", weights[rows], X[rows], X[rows])
    return sums, squares


def check_constant_columns(X: Any, constant: Array, mean_error: Array, standardize: bool) -> None:
    """Columns listed as constant are, and no other column is.

    Constant are columns of equal numbers; without standardisation, columns of zeros. Where the rounding of
    a mean is far below the scale, the scale itself shows that the column is not constant, and there is no
    need to look.
    """
    unclear = np.flatnonzero(constant | (mean_error > 0.1))
    if not unclear.size:
        return
    largest = to_dense(X[:, unclear].max(axis=0)).ravel()
    smallest = to_dense(X[:, unclear].min(axis=0)).ravel()
    if standardize:
        is_constant = largest - smallest <= 2.0**-1022
    else:
        is_constant = np.maximum(np.abs(largest), np.abs(smallest)) <= 0.0
    right = is_constant == constant[unclear]
    require(right.all(), "A column listed as constant is not, or the other way round.")


def standardise_difficult_columns(X: Any, means: Array, scales: Array, constant: Array) -> tuple[Any, Array, Array]:
    """Matrix, means and scales, with columns standardised that would lose digits in products with ``X``.

    Those are the columns with a mean far above the scale, or a scale whose square vanishes. Their entries
    are then off by 2 units of round-off, which the bounds allow for.
    """
    difficult = ((np.abs(means) > 8.0 * scales) | (scales < 1e-140)) & ~constant
    if difficult.any():
        X = X.toarray() if is_sparse(X) else X.copy()
        X[:, difficult] = (X[:, difficult] - means[difficult]) / scales[difficult]
    return X, np.where(difficult, 0.0, means), np.where(difficult, 1.0, scales)


# -- matrix ------------------------------------------------------------------------------------------------


def is_sparse(X: Any) -> bool:
    """Whether a matrix is one of SciPy's sparse ones, told by its methods: SciPy itself is not needed."""
    return hasattr(X, "tocsr")


def columns_of(X: Any, features: Array) -> Any:
    """Some columns of a matrix."""
    parts = list(passes(*X.shape))
    if is_sparse(X) or len(parts) == 1:
        return X[:, features]
    chosen = np.empty((X.shape[0], features.size))
    for rows in parts:
        chosen[rows] = X[rows, features]
    return chosen


def to_dense(block: Any) -> Array:
    """Part of the data as an ordinary array."""
    return np.asarray(block.toarray() if is_sparse(block) else block)


def matrix_fingerprint(X: Any, form: str, given_up: Callable[[], bool] = lambda: False) -> str:
    """The SHA-256 of the dense or the sparse form of a matrix, whatever the form at hand; empty if given up."""
    digest = hashlib.sha256()
    for piece in dense_pieces(X) if form == "dense" else sparse_pieces(X):
        if given_up():
            return ""
        digest.update(piece.data)
    return digest.hexdigest()


def dense_pieces(X: Any) -> Iterator[Array]:
    """All entries, row by row; adding zero turns -0.0 into 0.0."""
    by_rows = X.tocsr() if is_sparse(X) else X
    for rows in batches(*X.shape):
        yield np.add(to_dense(by_rows[rows]), 0.0, order="C")


def sparse_pieces(X: Any) -> Iterator[Array]:
    """Compressed columns without zeros: starts, rows and values."""
    if is_sparse(X):
        starts, rows, values = X.indptr, X.indices, X.data
    else:
        columns, rows = np.nonzero(X.T)
        starts = np.searchsorted(columns, np.arange(X.shape[1] + 1))
        values = X[rows, columns]
    for array, dtype in ((starts, "<i8"), (rows, "<i8"), (values, "<f8")):
        for entries in batches(array.size, 1):
            yield np.ascontiguousarray(array[entries], dtype)
