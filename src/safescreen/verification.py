"""Check a proof of optimality without trusting the program that wrote it.

This file needs NumPy and nothing of the package. It solves nothing: it reads a proof, makes sure that it is about the
data at hand and that its tree leaves no model out, and evaluates one formula per dual point,

    D(p) = Σ w_i H(p_i) + Σ_in (μ - q_j) - Σ_{κ largest free} (q_j - μ)₊  ≤  optimum,  q = γ c²/4, c = Aᵀα, α = w y p,

which holds for *any* ``p`` in [0, 1] (with ``Σ α = 0`` if there is an intercept). So points may be computed carelessly,
but not their bounds: these hold in real arithmetic, given IEEE-754 double precision for + - * / and the square root,
gradual underflow, and matrix products that are sums of products in any order, fused or not. Logarithms and
exponentials that matter are computed here. ``docs/certificate-format.md`` describes the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import PathLike
from time import perf_counter
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNIT = 2.0**-53 * (1.0 + 2.0**-20)  # a hair above the unit round-off, so that first-order bounds cover higher orders
LN2 = 0.6931471805599453  # the nearest double
LN2_HIGH = math.floor(LN2 * 2.0**32) / 2.0**32  # 32 bits: its product with an exponent is exact
LN2_LOW = (LN2 - LN2_HIGH) + 2.3190468138462996e-17  # ln 2 - LN2_HIGH
TOLERANCE, DOUBT = 1e-9, 1e-6  # how far a claim may exceed what holds, and what is certified, relative to the objective
BLOCK, BATCH = 1 << 23, 1 << 19  # entries of the columns that are kept (64 MiB), and of temporaries
NODE = np.dtype({"names": ("node", "parent", "decision", "screened", "size", "intercept"),
                 "formats": ("<i8", "<i8", "<i4", "<i4", "<i4", "<f8")})  # fmt: skip
CHUNK: dict[str, Any] = {"nodes": NODE, "screened": "<i4", "feature": "<i4", "value": "<f8"}
MAY_LACK = {"include": "<i8", "exclude": "<i8", "constant": "<i8", "root_screened": "<i4", "weights": "<f8"}
MEMBERS: dict[str, Any] = MAY_LACK | {"header": "|u1", "support": "<i8", "coef": "<f8", "root_dual": "<f8"}


@dataclass(frozen=True)
class Verification:
    """What a proof proves, by the checker's own arithmetic; numbers that could not be established are nan.

    Attributes
    ----------
    valid : bool
        Whether the proof is complete, about this data, and as good as it claims up to rounding.
    objective, lower_bound, gap : float
        The model's objective, rounded up; no admissible model is better than the lower bound, in real arithmetic; their
        relative distance.
    leaves, nodes, points : int
        Leaves and nodes of the tree, and dual points evaluated.
    reason : str
        Why the proof is refused, in one sentence; empty if it is valid.
    enclosure : tuple of float
        The lower bound, and the most that exact arithmetic could make of it.
    claims : dict
        Problem and results, as the proof states them.
    fingerprint : str
        SHA-256 of the matrix given.
    seconds : float
        Time taken.
    """

    valid: bool
    objective: float = math.nan
    lower_bound: float = math.nan
    gap: float = math.nan
    leaves: int = 0
    reason: str = ""
    nodes: int = 0
    points: int = 0
    enclosure: tuple[float, float] = (math.nan, math.nan)
    claims: dict[str, Any] = field(default_factory=dict, repr=False)
    fingerprint: str = field(default="", repr=False)
    seconds: float = 0.0

    def __str__(self) -> str:
        if not self.valid:
            return f"Refused: {self.reason}"
        terms = ", ".join(f"{name}={self.claims[name]:g}" for name in ("mu", "k", "gamma"))
        return (
            f"Valid: no model of this problem ({terms}) is better by more than {self.gap:.2g} (relative).\n"
            f"  objective    {self.objective:.15g}\n  lower bound  {self.lower_bound:.15g}\n"
            f"  tree         {self.nodes} nodes, {self.leaves} leaves, {self.points} dual points evaluated\n"
            f"  data         SHA-256 {self.fingerprint[:16]}...\n  checked in   {self.seconds:.3g} s"
        )


class RefusedError(Exception):
    """The proof does not hold; the message says why."""


def need(condition: Any, reason: str) -> None:
    """Refuse the proof unless the condition holds."""
    if not condition:
        raise RefusedError(reason)


def verify(path: str | PathLike[str], X: Any, y: Any) -> Verification:
    """Check a proof against the data it is said to be about.

    Parameters
    ----------
    path : path-like
        The proof, as written by ``solve(..., certificate=path)``.
    X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
        The data of the problem.
    y : array-like of shape (n_samples,)
        The labels.

    Returns
    -------
    Verification
        ``valid``, or the ``reason`` why not, with the checker's own objective, lower bound and gap.

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        If there is no such file, ``X`` is no matrix of numbers or ``y`` does not have one label per row. Whatever is
        wrong with the proof itself is reported as a refusal instead.
    """
    start, matrix, labels, reason = perf_counter(), Matrix(X), np.asarray(y), ""
    labels = labels.ravel() if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.shape != matrix.shape[:1]:
        raise ValueError(f"y has shape {labels.shape}, but must have one label for each of the {matrix.shape[0]} rows.")
    found: dict[str, Any] = {}
    with open(path, "rb") as file, np.errstate(all="ignore"):
        try:
            check(file, matrix, labels, found)
        except RefusedError as refusal:
            reason = str(refusal)
        except Exception as error:  # whatever a broken or malicious file can trigger is a refusal, not a crash
            reason = f"The proof cannot be read ({type(error).__name__}: {' '.join(str(error).split())})."
    return Verification(not reason, **found, reason=reason, seconds=perf_counter() - start)


def check(file: IO[bytes], matrix: Matrix, labels: Array, found: dict[str, Any]) -> None:
    """All steps; ``found`` collects what is established on the way.

    That the matrix is the right one matters more than anything found, but its hash need not keep a core waiting.
    """
    header, arrays = read(file)
    claims = get(header, "claims", dict)
    named = ("software", "mu", "k", "gamma", "fit_intercept", "standardize", "classes")
    found["claims"] = {name: header.get(name) for name in named} | claims
    found["claims"] |= {name: arrays[name].tolist() for name in ("include", "exclude")}
    prints, form = get(header, "fingerprint", dict), get(header, "matrix_form", str)
    results: dict[str, Any] = {}
    with ThreadPoolExecutor(1) as pool:
        hashing = pool.submit(matrix.fingerprint, form)
        try:
            evaluate(Problem(header, arrays, matrix, labels), header, arrays, claims, results)
        finally:
            found["fingerprint"] = hashing.result()
            need(found["fingerprint"] == prints.get("matrix"), "The matrix is not the one of the proof.")
            found |= results


def evaluate(
    problem: Problem, header: dict[str, Any], arrays: dict[str, Array], claims: dict[str, Any], found: dict[str, Any]
) -> None:
    """Objective and lower bound, against what is claimed.

    A claim must not contradict what the proof shows in exact arithmetic: it is held against the upper end of the bound,
    but only as long as rounding leaves little in doubt.
    """
    claimed, claimed_bound = get(claims, "objective", float), get(claims, "lower_bound", float)
    value = problem.objective(arrays["support"], arrays["coef"], get(header, "intercept", float))
    found["objective"] = value
    need(value <= claimed + TOLERANCE * abs(claimed), f"The objective is {value!r}, not {claimed!r} as claimed.")
    (low, high), counts = lower_bound(problem, header, arrays)
    need(math.isfinite(low), "The proof gives no lower bound.")
    found |= {"lower_bound": low, "enclosure": (low, high), "gap": (value - low) / abs(value), **counts}
    best = min(high, low + DOUBT * abs(value)) + TOLERANCE * abs(value)
    need(claimed_bound <= best, f"The lower bound is only {low!r}, not {claimed_bound!r} as claimed.")
    if claims.get("status") == "optimal":
        asked = get(claims, "rel_gap", float) + 4.0 * TOLERANCE
        need(value - best <= asked * abs(value), f"The gap is {found['gap']!r}, not {claims['rel_gap']!r} as claimed.")


# -- reading ---------------------------------------------------------------------------------------------------------


def read(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays, exactly those that belong there and of the right types; reading also checks every CRC."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        need(len(set(names)) == len(names), "Two members of the proof have the same name.")
        arrays = {name.removesuffix(".npy"): load(archive.read(name)) for name in names}
    need("header" in arrays, "The file is no safescreen proof.")
    header = json.loads(arrays["header"].tobytes(), parse_constant=lambda name: need(False, f"The header has {name}."))
    need(isinstance(header, dict) and header.get("format") == "safescreen-proof", "The file is no safescreen proof.")
    need(header.get("version") == 1, f"The proof has version {header.get('version')!r}, but only 1 is known.")
    kinds = MEMBERS | (dict.fromkeys(("means", "scales"), "<f8") if get(header, "standardize", bool) else {})
    chunks = range(min(get(header, "chunks", int), len(names)))
    kinds |= {f"tree{chunk:06d}_{name}": kind for chunk in chunks for name, kind in CHUNK.items()}
    arrays = {name: np.empty(0, kind) for name, kind in MAY_LACK.items()} | arrays
    for name, kind in kinds.items():
        need(name in arrays, f"The proof lacks the array {name!r}.")
        array = arrays[name]
        need(array.dtype == kind and array.ndim == 1, f"The array {name!r} has a wrong type or shape.")
        need(array.dtype.kind != "f" or np.isfinite(array).all(), f"The array {name!r} contains NaN or infinity.")
    need(len(arrays) == len(kinds), f"The proof has unknown members: {sorted(set(arrays) - set(kinds))}.")
    return header, arrays


def load(content: bytes) -> Array:
    """One array from the bytes of an ``.npy`` file, never from a pickle."""
    stream = io.BytesIO(content)
    array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    need(stream.tell() == len(content), "A member of the proof is longer than its array.")
    return array


def get(header: dict[str, Any], name: str, kind: type) -> Any:
    """An entry of the header, of the type it must have; numbers are finite, integers not negative."""
    value: Any = header.get(name)
    need(type(value) is kind or (kind is float and type(value) is int), f"The header has no proper {name!r}.")
    need(kind is not float or math.isfinite(value), f"The header's {name!r} is not finite.")
    need(kind is not int or value >= 0, f"The header's {name!r} is negative.")
    return float(value) if kind is float else value


def in_range(features: Array, n: int) -> Array:
    """Feature indices, if they are."""
    need(not features.size or 0 <= features.min() <= features.max() < n, "A feature is out of range.")
    return features


def mask(features: Array, n: int) -> npt.NDArray[np.bool_]:
    """Which features these are."""
    chosen = np.zeros(n, np.bool_)
    chosen[in_range(features, n)] = True
    return chosen


def decoded(codes: Array, n: int) -> tuple[Array, Array]:
    """Features and sides (0 in, 1 out) of decision codes, which are ±(feature + 1)."""
    return in_range(np.abs(codes.astype(np.int64)) - 1, n), (codes < 0).astype(np.int64)


def ranges(first: Array, sizes: Array) -> tuple[Array, Array]:
    """For ranges that start here and have these sizes: the range and the index of every element."""
    which = np.repeat(np.arange(sizes.size), sizes)
    return which, np.arange(which.size) + (first - np.cumsum(sizes) + sizes)[which]


def batches(count: int, width: int) -> Iterator[slice]:
    """``0 ... count - 1`` in pieces, so that arrays with rows of this width have a bounded size."""
    step = max(BATCH // width, 1)
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


# -- the data --------------------------------------------------------------------------------------------------------


class Matrix:
    """The matrix given: dense as it is, or sparse in canonical compressed columns, by its own methods."""

    def __init__(self, X: Any) -> None:
        self.sparse = hasattr(X, "tocsc")
        if self.sparse:
            self.X = (X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)).tocsc(copy=True)
            self.X.sum_duplicates()
            self.X.eliminate_zeros()
            self.X = self.X.astype(np.float64)
        else:
            self.X = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
            try:
                self.X = self.X if self.X.dtype.kind in "biuf" else self.X.astype(np.float64)
            except (TypeError, ValueError):
                raise TypeError(f"X has dtype {self.X.dtype}, but a matrix of real numbers is needed.") from None
        self.shape: tuple[int, ...] = self.X.shape
        if len(self.shape) != 2 or 0 in self.shape:
            raise ValueError(f"X has shape {self.shape}, but a matrix with rows and columns is needed.")

    def fingerprint(self, form: str) -> str:
        """The SHA-256 of the dense or the sparse form, whatever the form at hand."""
        need(form in ("dense", "sparse"), "The form of the matrix is unknown.")
        digest = hashlib.sha256()
        if form == "dense":
            lines = self.X.tocsr() if self.sparse else self.X
            for some in batches(*self.shape):
                block = lines[some].toarray() if self.sparse else lines[some]
                digest.update(np.add(block, 0.0, dtype=np.float64, order="C").data)  # which turns -0.0 into 0.0
            return digest.hexdigest()
        if self.sparse:
            starts, rows, values = self.X.indptr, self.X.indices, self.X.data
        else:
            columns, rows = np.nonzero(self.X.T)
            starts, values = np.searchsorted(columns, np.arange(self.shape[1] + 1)), self.X[rows, columns]
        for part, kind in ((starts, "<i8"), (rows, "<i8"), (values, "<f8")):
            digest.update(np.ascontiguousarray(part, kind).data)
        return digest.hexdigest()

    def products(self, factors: Array, squares: Array) -> tuple[Array, Array]:
        """``factors @ X`` and ``squares @ X²``."""
        if self.sparse:
            squared = self.X.copy()
            squared.data **= 2
            return (self.X.T @ factors.T).T, (squared.T @ squares.T).T
        first, second = np.zeros((len(factors), self.shape[1])), np.zeros((len(squares), self.shape[1]))
        by_columns = self.X.flags.f_contiguous
        for some in batches(*self.shape[:: -1 if by_columns else 1]):
            rows, columns = (slice(None), some) if by_columns else (some, slice(None))
            block = np.asarray(self.X[rows, columns], np.float64)
            first[:, columns] += factors[:, rows] @ block
            second[:, columns] += squares[:, rows] @ np.square(block)
        return first, second

    def columns(self, chosen: Array, rows: Array) -> Array:
        """Columns, restricted to these rows, as the rows of a new float64 array."""
        block = self.X[:, chosen].toarray().T if self.sparse else self.X.T[chosen]
        return np.ascontiguousarray(block[:, rows], dtype=np.float64)


class Problem:
    """The problem a proof states, once it is certain that it is about the data given.

    Rows of weight zero are left out, and the samples of the positive class come first.
    """

    def __init__(self, header: dict[str, Any], arrays: dict[str, Array], matrix: Matrix, labels: Array) -> None:
        self.matrix, (self.m, self.n) = matrix, matrix.shape
        shape = header.get("n_samples"), header.get("n_features")
        need(shape == matrix.shape, "The matrix has another shape than that of the proof.")
        self.mu, self.gamma = get(header, "mu", float), get(header, "gamma", float)
        self.k, self.intercept = min(get(header, "k", int), self.n), get(header, "fit_intercept", bool)
        need(self.mu >= 0.0 and self.gamma > 0.0 and self.k >= 1, "The header has an impossible mu, gamma or k.")
        named = (mask(arrays[name], self.n) for name in ("include", "exclude", "constant"))
        self.included, excluded, self.constant = named
        self.barred = (excluded | self.constant) & ~self.included
        need(not (self.included & excluded).any(), "A feature is both included and excluded.")
        need(np.count_nonzero(self.included) <= self.k, "More features are included than the budget allows.")
        self.check_samples(header, arrays["weights"], labels)
        self.check_columns(header, arrays)
        self.check_constant()

    def check_samples(self, header: dict[str, Any], weights: Array, labels: Array) -> None:
        """Weights and labels must be those of the proof."""
        prints, classes = header["fingerprint"], get(header, "classes", list)
        weights = weights if weights.size else np.full(self.m, 1.0 / self.m)
        need(weights.shape == (self.m,), "There is not one weight per sample.")
        need(weights.min() >= 0.0 and abs(math.fsum(weights) - 1.0) <= 1e-9, "The weights are not normalised.")
        need(hashlib.sha256(weights.data).hexdigest() == prints.get("weights"), "The weights have another fingerprint.")
        negative, positive = (np.array([label == name for label in labels.tolist()], np.bool_) for name in classes)
        signs = np.where(positive, 1, -1).astype(np.int8)
        same = hashlib.sha256(signs.data).hexdigest() == prints.get("labels")
        need(same and (positive ^ negative)[weights > 0.0].all(), "The labels are not those of the proof.")
        self.rows = np.concatenate([np.flatnonzero((weights > 0.0) & (signs == side)) for side in (1, -1)])
        self.w, self.y = weights[self.rows], signs[self.rows].astype(np.float64)
        self.dual_w = np.where(self.w < 1e-290, 0.0, self.w)  # p = 0 is as good as any where a weight hardly exists
        self.classes = slice(np.count_nonzero(self.y > 0.0)), slice(np.count_nonzero(self.y > 0.0), None)

    def check_columns(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Means and scales must be those of the data: each column of ``A`` has mean 0 and deviation 1, up to rounding.

        On the way: ``Aᵀα`` for the root, and norms. All columns come from products with ``X``, and those whose means or
        scales would cost digits again, from their entries.
        """
        dual, self.standardized = arrays["root_dual"], header["standardize"]
        need(dual.shape == (self.m,), "The dual point of the root has not one number per sample.")
        need(dual.min() >= 0.0 and dual.max() <= 1.0, "The dual point of the root is not in [0, 1].")
        point, alpha = self.balanced(dual[None, self.rows])
        self.means, self.scales = arrays.get("means", np.zeros(self.n)), arrays.get("scales", np.ones(self.n))
        need(self.means.shape == self.scales.shape == (self.n,), "There is not one mean and scale per feature.")
        need(self.scales.min() > 0.0, "A scale is not positive.")
        factors = np.zeros((3, self.m))
        factors[:, self.rows] = alpha[0], self.w, np.ones(self.w.size)
        (C, mean), (moment, squares) = self.matrix.products(factors[:2], factors[1:])
        need(np.isfinite(squares).all(), "The matrix has entries that are not finite or too large.")
        C = (C - self.means * alpha.sum()) / self.scales
        norms = (self.norm_bound(squares) + math.sqrt(self.m) * np.abs(self.means)) / self.scales * (1.0 + 8.0 * UNIT)
        moment = (moment - self.means * (2.0 * mean - self.means * self.w.sum())) / self.scales / self.scales
        mean = (mean - self.means * self.w.sum()) / self.scales
        hard = (np.abs(self.means) > 8.0 * self.scales) | (self.scales < 1e-140)
        again = np.flatnonzero(hard & ~self.constant)
        for some, block in self.blocks(again):
            C[again[some]], mean[again[some]], squared = block @ alpha[0], block @ self.w, block * block
            norms[again[some]], moment[again[some]] = self.norm_bound(squared.sum(axis=1)), squared @ self.w
        if self.standardized:
            error = 1e-9 + (self.m + 16) * UNIT * np.abs(self.means) / self.scales
            fits = (np.abs(mean) <= error) & (np.abs(moment - 1.0) <= error * (2.0 + error))
            need((fits | self.constant).all(), "The means and scales are not those of the matrix.")
        C[self.constant | self.barred] = norms[self.constant | self.barred] = 0.0
        self.root = point, alpha, C[None], norms

    def check_constant(self) -> None:
        """Columns left out as constant must be constant, and zero without standardisation."""
        listed = np.flatnonzero(self.constant)
        for some in batches(listed.size, self.m):
            block = self.matrix.columns(listed[some], self.rows)
            spread = block.max(axis=1) - block.min(axis=1) if self.standardized else np.abs(block).max(axis=1)
            need((spread <= 2.0**-1022 * self.standardized).all(), "A column listed as constant is not.")

    def norm_bound(self, squares: Array) -> Array:
        """Upper bounds on norms, from sums of squares; the small term pays for all that underflow can take."""
        return np.asarray(np.sqrt(squares + self.m * 1e-307) * (1.0 + (self.m + 16) * UNIT))

    def blocks(self, features: Array) -> Iterator[tuple[slice, Array]]:
        """Columns of ``A`` as rows of blocks of bounded size, with their places among the features.

        Each entry is within 2 units of round-off (relative); constant columns are zero.
        """
        for some in batches(features.size, self.m):
            block = self.matrix.columns(features[some], self.rows)
            if self.standardized:
                block -= self.means[features[some], None]
                block /= self.scales[features[some], None]
            block[self.constant[features[some]]] = 0.0
            yield some, block

    def objective(self, support: Array, coef: Array, intercept: float) -> float:
        """The objective of the model, rounded up.

        The loss falls with the margin, so a margin lowered by its error covers all rounding of the predictor.
        """
        chosen = mask(support, self.n)
        need(support.size == coef.size == np.count_nonzero(chosen), "The support of the model is malformed.")
        need(not (chosen & self.barred).any(), "The model uses a feature that is excluded or constant.")
        priced = int(np.count_nonzero(chosen | self.included))
        need(priced <= self.k, f"The model has {priced} features, but the budget is {self.k}.")
        x, offsets = coef * self.scales[support], coef * self.means[support]
        b = math.fsum((intercept, *offsets.tolist()))
        b_error = 4.0 * UNIT * (abs(intercept) + math.fsum(np.abs(offsets)))
        if not self.intercept:
            need(abs(b) <= b_error, "The model has an intercept, but the problem has none.")
            b = b_error = 0.0
        predictor, size = np.full(self.w.size, b), np.full(self.w.size, abs(b))
        for some, block in self.blocks(support):
            predictor += x[some] @ block
            size += np.abs(x[some]) @ np.abs(block)
        margin = self.y * predictor - ((support.size + 10) * UNIT * size + 2.0 * b_error)
        tail = exp(-np.minimum(np.abs(margin), 700.0))
        losses = np.maximum(-margin, 0.0) - log1p(-tail / (1.0 + tail))  # log(1 + t) = -log(1 - t / (1 + t))
        ridge = math.fsum(x * x) / self.gamma
        total = (math.fsum(self.w * losses) + ridge + self.mu * priced) * (1.0 + 40.0 * UNIT) + 1e-300
        need(math.isfinite(total), "The objective of the model is not finite.")
        return float(total)

    def balanced(self, P: Array) -> tuple[Array, Array]:
        """Dual points and their ``α``; with an intercept the heavier class is scaled down until both sums agree.

        From here on ``α`` is exact, and stands for a ``p`` that is smaller by at most 7 units of round-off.
        """
        if self.intercept:
            sums = [P[:, members] @ self.dual_w[members] for members in self.classes]
            for members, one in zip(self.classes, sums, strict=True):
                P[:, members] *= (np.minimum(*sums) / np.maximum(one, 5e-324))[:, None]
        alpha = P * self.dual_w
        alpha *= self.y * (1.0 - 2.0**-51)
        return P, alpha

    def imbalance(self, alpha: Array) -> Array:
        """Upper bounds on δ: one class scaled by 1 - δ makes ``Σ α`` exactly zero."""
        if not self.intercept:
            return np.zeros(len(alpha))
        if len(alpha) == 1:  # the root: exact sums cost nothing
            one, other = (np.abs([math.fsum(alpha[0, members])]) for members in self.classes)
        else:
            one, other = (np.abs(alpha[:, members].sum(axis=1)) for members in self.classes)
        share = (4.0 if len(alpha) == 1 else self.m + 4.0) * UNIT
        most, difference = np.maximum(one, other), np.abs(one - other) + share * (one + other)
        delta = difference / most * (1.0 + (2.0 * self.m + 16.0) * UNIT)
        return np.where(most > 1e-290, np.minimum(delta, 1.0), 1.0)


# -- logarithm, exponential, entropy ---------------------------------------------------------------------------------


def log1p(x: Array) -> Array:
    """``log(1 + x)`` for x in [-1/2, 0], within 10 units of round-off (relative, but for underflow).

    Where ``1 + x`` is below √½ it is doubled; ``log(1 + t) = 2 atanh(z)`` with ``z = t / (t + 2)``, ``t`` exact and
    ``|z| < 0.1716``. Error of ``z``: 2 units. The series of ``2 atanh(z) / z`` is cut after z²⁰, a relative remainder
    below z²²/23/(1 - z²) < 1e-18; its first term dominates, so that Horner's rounding is 1.1 units. With the last
    product 4.2 units, of at most 0.347. Subtracting ln 2 leaves at least 0.346: 4.2 units, 2 for ln 2, 1 to subtract.
    """
    doubled = (x < -0.29289321881345254).astype(np.float64)
    t = x * (1.0 + doubled) + doubled
    z = t / (t + 2.0)
    square = z * z
    series = square * (2.0 / 21.0)
    for power in range(19, 1, -2):
        series += 2.0 / power
        series *= square
    return np.asarray((series + 2.0) * z - doubled * LN2)


def exp(x: Array) -> Array:
    """``exp(x)`` for x in [-700, 0], within 8 units of round-off (relative).

    ``x = n ln 2 + r`` with ``|r| < 0.347``: the product with LN2_HIGH and the first difference are exact, so ``r`` is
    off by less than a unit. The Taylor polynomial of degree 13 has a remainder below 1e-17 and rounds by 4 units.
    """
    n = np.rint(x / LN2)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = np.ones_like(r)
    for power in range(13, 0, -1):
        series = 1.0 + series * r / power
    return np.asarray(np.ldexp(series, n.astype(np.int32)))


def entropy(P: Array, w: Array) -> Array:
    """``Σ w_i H(p_i)`` for every row, within ``m + 24`` units of round-off (relative, but for underflow).

    ``s = min(p, 1 - p)`` is exact, ``H(p) = -s log s - (1 - s) log(1 - s)`` has positive terms, and both logarithms are
    within 12 units (``s = 2ᵉ f``, where ``e ln 2`` and ``log f`` have the same sign): 16 units a sample, then the sum.
    """
    totals, step = np.empty(len(P)), max((1 << 14) // w.size, 1)
    for first in range(0, len(P), step):  # so that it all stays in the cache
        p = P[first : first + step]
        s = np.minimum(p, 1.0 - p)
        fraction, exponent = np.frexp(s)
        terms = s * (log1p(fraction - 1.0) + exponent * LN2) + (1.0 - s) * log1p(-s)
        totals[first : first + step] = -(terms @ w)
    return totals


# -- bounds ----------------------------------------------------------------------------------------------------------


class Bounds:
    """What dual points prove: one row per node, one column per feature.

    The entries of ``A`` are off by 2 units of round-off if standardised, a sum of m products by m, and centring after
    the sum adds a few: by Cauchy-Schwarz this moves ``c_j`` by at most (m + 10) units of ‖A^j‖ ‖α‖. With an intercept
    the exactly balanced point is the one at hand with one class scaled by some 1 - δ: that moves ``c_j`` by at most
    δ ‖A^j‖ ‖α‖, and H being concave with H(0) = 0, leaves at least 1 - δ of the entropy (and 1 - 7u after what
    `balanced` takes). So ``|c_j|`` widened by ``reach ‖A^j‖`` gives ``q`` from above, and D falls in every q. All
    further sums have terms of known size, of which ``slack`` is the share that rounding can have. Upwards,
    ``H(p - ε) ≤ H(p) + H(ε)`` with ``H(ε) ≤ 41 ε``, and q is too large by at most γ |c| times the error. What is not a
    number, after an overflow, spreads to the least bound, which is then refused.
    """

    def __init__(self, problem: Problem, P: Array, alpha: Array, C: Array, norms: Array) -> None:
        size, delta = problem.norm_bound(np.einsum("ij,ij->i", alpha, alpha)), problem.imbalance(alpha)
        reach = ((problem.m + 10.0) * UNIT + delta) * size * (1.0 + 8.0 * UNIT)
        total, share = entropy(P, problem.dual_w), (problem.m + 32.0) * UNIT
        self.mu, self.entropy = problem.mu, total * (1.0 - share) * (1.0 - delta)
        widened = np.abs(C) + reach[:, None] * norms
        self.width = total * 4.0 * share + 42.0 * (delta + 8.0 * UNIT)
        self.width += 1.01 * problem.gamma * reach * (widened @ norms)
        self.gain = widened * widened * (0.25 * problem.gamma * (1.0 + 16.0 * UNIT))
        self.width += 50.0 * UNIT * self.gain.sum(axis=1)
        self.gain -= self.mu

    def at(self, inside: Array, outside: Array, kappa: Array) -> Array:
        """Both ends of ``D`` for nodes with these features decided, and ``kappa`` of the budget left."""
        rows, columns = self.gain.shape
        gains = np.maximum(self.gain, 0.0) * ~(inside | outside)
        fixed, top = np.einsum("ij,ij->i", self.gain, inside), gains.sum(axis=1)
        self.kappa, self.last, self.following = kappa, np.zeros(rows), np.zeros(rows)
        if (np.count_nonzero(gains, axis=1) >= kappa).any():  # only here the budget has a say
            ranked = np.pad(np.sort(gains, axis=1)[:, ::-1], ((0, 0), (1, 1)))  # what is not a number comes first
            place, row = np.clip(kappa, 0, columns), np.arange(rows)
            top, self.last, self.following = (
                ranked.cumsum(axis=1)[row, place],
                ranked[row, place],
                ranked[row, place + 1],
            )
        price = self.mu * np.count_nonzero(inside, axis=1)
        slack = (columns + 16.0) * UNIT * (self.entropy + (fixed + 2.0 * price) + top) + 1e-295
        self.lower = self.entropy - fixed - top - slack
        self.width += 2.0 * slack
        return np.stack((self.lower, self.lower + self.width))

    def flipped(self, row: Array, column: Array, side: Array) -> Array:
        """The same with a free feature on the other side of a decision.

        Out: its gain is lost and the next one moves up. In: it takes the place of the last one chosen, unless chosen
        itself, and pays its price whatever its gain; impossible if the budget is spent.
        """
        gain, last, following = self.gain[row, column], self.last[row], self.following[row]
        positive = np.maximum(gain, 0.0)
        change = np.where(side == 0, np.maximum(positive - following, 0.0), np.maximum(positive, last) - gain)
        change[(side == 1) & (self.kappa[row] < 1)] = np.inf
        slack = 8.0 * UNIT * (np.abs(self.lower[row]) + np.abs(gain) + last + following)
        lower = self.lower[row] + change - slack
        return np.stack((lower, lower + self.width[row] + 2.0 * slack))


class Columns:
    """Dense columns of ``A`` for some features, kept if they fit and gathered for every use if not."""

    def __init__(self, problem: Problem, features: Array) -> None:
        self.problem, self.features, self.norms = problem, features, np.empty(features.size)
        self.kept = list(problem.blocks(features)) if features.size * problem.m <= BLOCK else None
        for some, block in self.blocks():
            self.norms[some] = problem.norm_bound(np.einsum("ij,ij->i", block, block))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Places among the features, and columns as rows."""
        return self.problem.blocks(self.features) if self.kept is None else iter(self.kept)

    def points(self, x: Array, b: Array) -> tuple[Array, Array]:
        """The dual points (and ``α``) that belong to these models; rounding them is harmless."""
        predictor = np.repeat(b[:, None], self.problem.w.size, axis=1)
        for some, block in self.blocks():
            predictor += x[:, some] @ block
        predictor *= self.problem.y
        return self.problem.balanced(1.0 / (1.0 + np.exp(predictor, out=predictor)))  # in [0, 1]: exp is not negative

    def products(self, alpha: Array) -> Array:
        """``Aᵀα``."""
        C = np.empty((len(alpha), self.features.size))
        for some, block in self.blocks():
            C[:, some] = alpha @ block.T
        return C


# -- the tree --------------------------------------------------------------------------------------------------------


class Tree:
    """The search tree: who is whose parent, what is decided where, and the bounds of all its regions."""

    def __init__(self, header: dict[str, Any], arrays: dict[str, Array], features: int) -> None:
        parts = [[arrays[f"tree{chunk:06d}_{name}"] for name in CHUNK] for chunk in range(header["chunks"])]
        for nodes, *lists in parts:
            need(nodes["screened"].min(initial=0) >= 0 and nodes["size"].min(initial=-1) >= -1, "A count is negative.")
            screened, size = (np.maximum(nodes[name], 0).sum(dtype=np.int64) for name in ("screened", "size"))
            need([part.size for part in lists] == [screened, size, size], "The counts of a chunk do not add up.")
        nodes, codes, self.feature, self.value = (np.concatenate(lists) for lists in zip(*parts, strict=True))
        self.n, self.intercept = nodes.size, nodes["intercept"]
        need(self.n == header["nodes"], "The number of nodes is not the one of the header.")
        need(np.isfinite(self.intercept).all(), "A point is not finite.")
        self.screened, self.size = nodes["screened"].astype(np.int64), nodes["size"].astype(np.int64)
        need(not self.screened[self.size < 0].any(), "A node without a point screens features.")
        in_range(self.feature, features)
        self.code, self.side = decoded(codes, features)
        self.first_code, self.first_entry = (np.cumsum(c) - c for c in (self.screened, np.maximum(self.size, 0)))
        self.branched, self.branch = nodes["decision"] != 0, np.zeros((2, self.n), np.int64)
        self.branch[:, self.branched] = decoded(nodes["decision"][self.branched], features)
        self.link(nodes["node"], nodes["parent"], nodes["decision"].astype(np.float64))

    def link(self, name: Array, parent: Array, decision: Array) -> None:
        """Find all parents, and refuse anything but one tree with every branch in its place."""
        order = np.argsort(name, kind="stable")
        need(name.min() >= 0 and (np.diff(name[order]) > 0).all(), "Two nodes have the same number.")
        need(parent[0] == -1 and decision[0] == 0.0, "The tree does not begin with a root.")
        need((parent[1:] >= 0).all(), "The tree has two roots.")
        up = order[np.minimum(np.searchsorted(name, parent[1:], sorter=order), self.n - 1)]
        need((name[up] == parent[1:]).all(), "A node has an unknown parent.")
        need((up < np.arange(1, self.n)).all(), "A node comes before its parent.")
        children, branches = (np.bincount(up, weights, self.n) for weights in (None, self.branched[1:]))
        need(children.max() <= 2, "A node has more than two children.")
        need((branches == 2 * (children == 2)).all(), "A branch of a node is missing.")
        need(not np.bincount(up, decision[1:], self.n).any(), "The two branches of a node are not opposite.")
        self.up, self.leaf = np.append(0, up), children == 0

    def decided(self, nodes: Array, status: Array) -> Array:
        """Which features are in and which out at these nodes: the root's status and all decisions on the way up."""
        decided = np.repeat(status[:, None], nodes.size, axis=1)
        row, here = np.arange(nodes.size), nodes
        while (row := row[here > 0]).size:
            here = here[here > 0]
            feature, side = self.branch[:, here]
            some = self.branched[here]
            decided[side[some], row[some], feature[some]] = True
            here = self.up[here]
            which, entry = ranges(self.first_code[here], self.screened[here])
            decided[self.side[entry], row[which], self.code[entry]] = True
        return decided

    def bounds(self, problem: Problem, status: Array, inherited: Array) -> Array:
        """Both ends of the least bound over all regions: leaves, and what screening cuts off.

        A node where the budget is exceeded or a feature is both in and out is empty, and so is all below it.
        """
        used = ~status[1]
        used[self.feature], used[self.code], used[self.branch[0]] = True, True, True
        local = np.cumsum(used) - 1
        self.feature, self.code, self.branch[0] = local[self.feature], local[self.code], local[self.branch[0]]
        columns, status = Columns(problem, np.flatnonzero(used)), status[:, used]
        best, cut = np.full((2, self.n), -np.inf), np.full((2, self.n), np.inf)
        empty = np.zeros(self.n, np.bool_)
        for some in batches(self.n, max(problem.m, status.shape[1])):
            nodes = np.arange(some.start, some.stop)
            inside, outside = self.decided(nodes, status)
            kappa = problem.k - np.count_nonzero(inside, axis=1)
            empty[some] = (kappa < 0) | (inside & outside).any(axis=1)
            useful = (self.size[some] >= 0) & ~empty[some]
            chosen = nodes[useful], inside[useful], outside[useful], kappa[useful]
            best[:, nodes[useful]], cut[:, nodes[useful]] = self.evaluate(problem, columns, *chosen)
        best[:, 0], jump = np.maximum(best[:, 0], inherited), self.up
        for _ in range(self.n.bit_length()):  # every node inherits the best of its 1, 3, 7, ... nearest ancestors
            best, jump = np.maximum(best, best[:, jump]), jump[jump]
        least = np.where(self.leaf, best, np.maximum(best, cut))
        return np.asarray(least[:, ~empty].min(axis=1, initial=np.inf))

    def evaluate(
        self, problem: Problem, columns: Columns, nodes: Array, inside: Array, outside: Array, kappa: Array
    ) -> tuple[Array, Array]:
        """Bounds of these nodes and the least bounds of what they screen away, from their own points."""
        x = np.zeros(inside.shape)
        row, entry = ranges(self.first_entry[nodes], self.size[nodes])
        x[row, self.feature[entry]] = self.value[entry]
        P, alpha = columns.points(x, self.intercept[nodes])
        bounds = Bounds(problem, P, alpha, columns.products(alpha), columns.norms)
        own, cut = bounds.at(inside, outside, kappa), np.full((2, nodes.size), np.inf)
        row, entry = ranges(self.first_code[nodes], self.screened[nodes])
        column, side = self.code[entry], self.side[entry]
        flips, into, out_of = bounds.flipped(row, column, side), inside[row, column], outside[row, column]
        flips[:, np.where(side == 0, into, out_of)] = np.inf  # decided so already: nothing is cut off
        flips[:, np.where(side == 0, out_of, into)] = -np.inf  # decided against: this ends here, all below is empty
        for end, flip in zip(cut, flips, strict=True):
            np.minimum.at(end, row, flip)
        return own, cut


def lower_bound(
    problem: Problem, header: dict[str, Any], arrays: dict[str, Array]
) -> tuple[tuple[float, float], dict[str, int]]:
    """Both ends of the least bound over all regions of the proof, and how many leaves, nodes and points there are."""
    status = np.stack((problem.included, problem.barred))
    codes, sides = decoded(arrays["root_screened"], problem.n)
    need(np.unique(codes).size == codes.size, "The root decides a feature twice.")
    need(not status[1 - sides, codes].any(), "The root decides a feature against the problem.")
    codes, sides = codes[~status[sides, codes]], sides[~status[sides, codes]]
    bounds = Bounds(problem, *problem.root)
    root = bounds.at(status[:1], status[1:], np.array([problem.k - np.count_nonzero(status[0])]))[:, 0]
    nodes, least, counts = get(header, "nodes", int), root, {"leaves": 1, "nodes": 0, "points": 1}
    need((nodes > 0) == (header["chunks"] > 0), "The number of chunks does not fit the number of nodes.")
    if nodes:
        flips = bounds.flipped(np.zeros(codes.size, np.int64), codes, sides).min(axis=1, initial=np.inf)
        tree = Tree(header, arrays, problem.n)
        status[sides, codes] = True
        least = np.minimum(np.maximum(root, flips), tree.bounds(problem, status, root))
        counts = {"leaves": int(tree.leaf.sum()), "nodes": nodes, "points": 1 + int((tree.size >= 0).sum())}
    return (float(least[0]), float(least[1])), counts
