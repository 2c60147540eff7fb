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
from dataclasses import dataclass, field
from os import PathLike
from time import perf_counter
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Header = dict[str, Any]

UNIT = 2.0**-53 * (1.0 + 2.0**-20)  # a hair above the unit round-off, so that first-order bounds cover higher orders
LN2 = 0.6931471805599453  # the nearest double
LN2_HIGH = math.floor(LN2 * 2.0**32) / 2.0**32  # 32 bits: its product with an exponent is exact
LN2_LOW = (LN2 - LN2_HIGH) + 2.3190468138462996e-17  # ln 2 - LN2_HIGH
TOLERANCE = 1e-9  # how far, relative to the objective, a claim may exceed what is certified
BLOCK, BATCH = 1 << 23, 1 << 19  # entries of the largest dense block that is kept (64 MiB), and of temporaries
CHUNK: dict[str, Any] = {
    "nodes": np.dtype("i8, i8, i4, i4, i4, f8").newbyteorder("<"), "screened": "<i4", "feature": "<i4", "value": "<f8"
}  # fmt: skip
CHUNK["nodes"].names = ("node", "parent", "decision", "screened", "size", "intercept")
MEMBERS: dict[str, Any] = {"header": "|u1", "root_screened": "<i4"}
MEMBERS |= dict.fromkeys(("include", "exclude", "constant", "support"), "<i8")
MEMBERS |= dict.fromkeys(("weights", "coef", "root_dual"), "<f8")
MAY_LACK = ("include", "exclude", "constant", "root_screened", "weights")  # empty, and for the weights equal, if absent


@dataclass(frozen=True)
class Verification:
    """What a proof proves, by the checker's own arithmetic; numbers that could not be established are nan."""

    valid: bool  # whether the proof is complete, about this data, and at least as good as it claims
    objective: float = math.nan  # the model's objective, rounded up
    lower_bound: float = math.nan  # no admissible model is better, in real arithmetic
    gap: float = math.nan  # (objective - lower_bound) / |objective|
    leaves: int = 0
    reason: str = ""  # why the proof is refused, in one sentence
    nodes: int = 0
    points: int = 0  # dual points evaluated
    enclosure: tuple[float, float] = (math.nan, math.nan)  # lower_bound, and at most this in exact arithmetic
    claims: dict[str, Any] = field(default_factory=dict, repr=False)  # problem and results, as the proof states them
    fingerprint: str = field(default="", repr=False)  # SHA-256 of the matrix given
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
    start = perf_counter()
    matrix, labels = Matrix(X), np.asarray(y)
    labels = labels.ravel() if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.shape != matrix.shape[:1]:
        raise ValueError(f"y has shape {labels.shape}, but must have one label for each of the {matrix.shape[0]} rows.")
    found: dict[str, Any] = {}
    with open(path, "rb") as file:
        try:
            with np.errstate(all="ignore"):
                check(file, matrix, labels, found)
            reason = ""
        except RefusedError as refusal:
            reason = str(refusal)
        except Exception as error:  # whatever a broken or malicious file can trigger is a refusal, not a crash
            reason = f"The proof cannot be read ({type(error).__name__}: {' '.join(str(error).split())})."
    return Verification(not reason, **found, reason=reason, seconds=perf_counter() - start)


def check(file: IO[bytes], matrix: Matrix, labels: Array, found: dict[str, Any]) -> None:
    """All steps; ``found`` collects what is established on the way."""
    header, arrays = read(file)
    claims = get(header, "claims", dict)
    claimed, claimed_bound = get(claims, "objective", float), get(claims, "lower_bound", float)
    problem = Problem(header, arrays, matrix, labels, found)
    value = problem.objective(arrays["support"], arrays["coef"], get(header, "intercept", float))
    found["objective"] = value
    need(value <= claimed + TOLERANCE * abs(claimed), f"The objective is {value!r}, not {claimed!r} as claimed.")
    wanted = claimed_bound - TOLERANCE * abs(claimed)
    (low, high), counts = lower_bound(problem, header, arrays, wanted)
    need(math.isfinite(low), "The proof gives no lower bound.")
    gap = (value - low) / abs(value)
    found |= {"lower_bound": low, "enclosure": (low, high), "gap": gap, **counts}
    need(low >= wanted, f"The lower bound is only {low!r}, not {claimed_bound!r} as claimed.")
    if claims.get("status") == "optimal":
        asked = get(claims, "rel_gap", float)
        need(gap <= asked + 4.0 * TOLERANCE, f"The gap is {gap!r}, not {asked!r} as claimed.")


# -- reading ---------------------------------------------------------------------------------------------------------


def read(file: IO[bytes]) -> tuple[Header, dict[str, Array]]:
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
    arrays = {name: np.empty(0, MEMBERS[name]) for name in MAY_LACK} | arrays
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


def get(header: Header, name: str, kind: type) -> Any:
    """An entry of the header, of the type it must have; numbers are finite, integers not negative."""
    value = header.get(name)
    need(type(value) is kind or (kind is float and type(value) is int), f"The header has no proper {name!r}.")
    need(kind is not float or math.isfinite(value), f"The header's {name!r} is not finite.")  # type: ignore[arg-type]
    need(kind is not int or value >= 0, f"The header's {name!r} is negative.")  # type: ignore[operator]
    return value


def in_range(features: Array, n: int) -> Array:
    """Feature indices, if they are."""
    need(not features.size or 0 <= features.min() <= features.max() < n, "A feature is out of range.")
    return features


def decoded(codes: Array, n: int) -> tuple[Array, Array]:
    """Features and sides (1 in, -1 out) of decision codes, which are ±(feature + 1)."""
    return in_range(np.abs(codes.astype(np.int64)) - 1, n), np.sign(codes).astype(np.int8)


def ranges(starts: Array, lengths: Array) -> tuple[Array, Array]:
    """The indices of several ranges one after the other: which range each belongs to, and the index."""
    which = np.repeat(np.arange(lengths.size), lengths)
    return which, np.arange(which.size) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


# -- data ------------------------------------------------------------------------------------------------------------


class Matrix:
    """The user's matrix: a dense array of any real type, or columns in compressed form (canonical, float64)."""

    def __init__(self, X: Any) -> None:
        if hasattr(X, "iloc") and hasattr(X, "sparse"):
            X = X.sparse.to_coo()  # a pandas frame made of sparse columns
        self.dense: Array | None = None
        if hasattr(X, "tocsc"):
            csc = (X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)).tocsc(copy=True)
            csc.sum_duplicates()
            csc.eliminate_zeros()
            self.starts, self.rows = csc.indptr.astype(np.int64), csc.indices.astype(np.int64)
            self.values, self.shape = csc.data.astype(np.float64), csc.shape
            return
        dense = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        if dense.dtype.kind not in "biuf":
            try:
                dense = dense.astype(np.float64)
            except (TypeError, ValueError):
                raise TypeError(f"X has dtype {dense.dtype}, but a matrix of real numbers is needed.") from None
        if dense.ndim != 2 or not dense.size:
            raise ValueError(f"X has shape {dense.shape}, but a matrix with rows and columns is needed.")
        self.dense, self.shape = dense, dense.shape

    def compress(self) -> None:
        """Change to compressed columns, which is what the fingerprint of a sparse matrix is made of."""
        if self.dense is not None:
            columns, self.rows = (np.ascontiguousarray(index) for index in np.nonzero(self.dense.T))
            self.values = self.dense[self.rows, columns].astype(np.float64)
            self.starts = np.append(0, np.bincount(columns, minlength=self.shape[1]).cumsum())
            self.dense = None

    def row_blocks(self) -> Iterator[tuple[slice, Array]]:
        """All rows, some at a time, as dense float64 blocks in C order without negative zeros."""
        m, n = self.shape
        step = max(BATCH // n, 1)
        if self.dense is None:
            order = np.argsort(self.rows, kind="stable")
            row, column = self.rows[order], np.repeat(np.arange(n), np.diff(self.starts))[order]
        for first in range(0, m, step):
            rows = slice(first, min(first + step, m))
            if self.dense is not None:
                yield rows, np.add(self.dense[rows], 0.0, dtype=np.float64, order="C")
            else:
                block, some = np.zeros((rows.stop - first, n)), slice(*np.searchsorted(row, (first, rows.stop)))
                block[row[some] - first, column[some]] = self.values[order[some]]
                yield rows, block

    def scan(self, form: str, factors: Array, squares: Array) -> tuple[str, Array, Array]:
        """In one pass: the fingerprint, ``factors @ X`` and ``squares @ X²``."""
        digest = hashlib.sha256()
        first, second = np.zeros((len(factors), self.shape[1])), np.zeros((len(squares), self.shape[1]))
        if form == "sparse":
            for part in (self.starts, self.rows, self.values):
                digest.update(part.data)
        for rows, block in self.row_blocks() if form == "dense" else ():
            digest.update(block.data)
            if self.dense is not None:
                first += factors[:, rows] @ block
                second += squares[:, rows] @ np.square(block, out=block)
        if self.dense is None:
            columns = np.repeat(np.arange(self.shape[1]), np.diff(self.starts))
            for target, lines, values in ((first, factors, self.values), (second, squares, self.values**2)):
                for out, line in zip(target, lines, strict=True):
                    out[:] = np.bincount(columns, line[self.rows] * values, self.shape[1])
        return digest.hexdigest(), first, second

    def columns(self, chosen: Array, rows: Array) -> Array:
        """Raw columns, restricted to these rows, as the rows of a new float64 array."""
        if self.dense is not None:
            return np.ascontiguousarray(self.dense.T[chosen][:, rows], dtype=np.float64)
        block = np.zeros((chosen.size, self.shape[0]))
        which, entries = ranges(self.starts[chosen], np.diff(self.starts)[chosen])
        block[which, self.rows[entries]] = self.values[entries]
        return np.ascontiguousarray(block[:, rows])


class Problem:
    """The problem a proof states, once it is certain that it is about the data given.

    Rows of weight zero are left out, and the samples of the positive class come first.
    """

    def __init__(
        self, header: Header, arrays: dict[str, Array], matrix: Matrix, labels: Array, found: dict[str, Any]
    ) -> None:
        self.matrix, (self.m, self.n) = matrix, matrix.shape
        shape = header.get("n_samples"), header.get("n_features")
        need(shape == matrix.shape, "The matrix has another shape than that of the proof.")
        self.mu, self.gamma = float(get(header, "mu", float)), float(get(header, "gamma", float))
        self.k, self.intercept = min(get(header, "k", int), self.n), get(header, "fit_intercept", bool)
        need(self.mu >= 0.0 and self.gamma > 0.0 and self.k >= 1, "The header has an impossible mu, gamma or k.")
        named = ("software", "mu", "k", "gamma", "fit_intercept", "standardize", "classes")
        found["claims"] = {name: header.get(name) for name in named} | header["claims"]
        found["claims"] |= {name: arrays[name].tolist() for name in ("include", "exclude")}
        masks = np.zeros((3, self.n), np.bool_)
        for mask, name in zip(masks, ("include", "exclude", "constant"), strict=True):
            mask[in_range(arrays[name], self.n)] = True
        self.included, self.excluded, self.constant = masks
        need(not (self.included & self.excluded).any(), "A feature is both included and excluded.")
        need(np.count_nonzero(self.included) <= self.k, "More features are included than the budget allows.")
        self.check_samples(header, arrays["weights"], labels)
        self.check_matrix(header, arrays, found)

    def check_samples(self, header: Header, weights: Array, labels: Array) -> None:
        """Weights and labels must be those of the proof."""
        prints, classes = get(header, "fingerprint", dict), get(header, "classes", list)
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
        self.positives = int(np.count_nonzero(self.y > 0.0))

    def check_matrix(self, header: Header, arrays: dict[str, Array], found: dict[str, Any]) -> None:
        """The matrix must be that of the proof; the same pass gives ``Xᵀα`` for the root, norms, and moments."""
        dual, form = arrays["root_dual"], get(header, "matrix_form", str)
        need(dual.shape == (self.m,), "The dual point of the root has not one number per sample.")
        need(dual.min() >= 0.0 and dual.max() <= 1.0, "The dual point of the root is not in [0, 1].")
        self.root_point, self.root_alpha = self.balanced(dual[None, self.rows])
        factors, squares = np.zeros((2, self.m)), np.zeros((2, self.m))
        factors[:, self.rows] = self.root_alpha[0], self.w
        squares[:, self.rows] = np.ones(self.w.size), self.w
        need(form in ("dense", "sparse"), "The form of the matrix is unknown.")
        if form == "sparse":
            self.matrix.compress()
        found["fingerprint"], (self.raw, means), (raw, moments) = self.matrix.scan(form, factors, squares)
        need(found["fingerprint"] == header["fingerprint"].get("matrix"), "The matrix is not the one of the proof.")
        need(np.isfinite(raw).all(), "The matrix has entries that are not finite or too large.")
        self.raw_norms, self.standardized = self.norm_bound(raw), header["standardize"]
        self.means, self.scales = arrays.get("means", np.zeros(self.n)), arrays.get("scales", np.ones(self.n))
        need(self.means.shape == self.scales.shape == (self.n,), "There is not one mean and scale per feature.")
        need(self.scales.min() > 0.0, "A scale is not positive.")
        self.check_moments(means, np.sqrt(np.maximum(moments - means * means, 0.0)))

    def check_moments(self, means: Array, deviations: Array) -> None:
        """Means and scales must be those of the data, and columns left out as constant must be constant.

        ``means`` and ``deviations`` come from a quick formula; columns where it disagrees get a second look.
        """

        def wrong(features: Array, mean: Array, deviation: Array) -> Array:
            scale, rounding = self.scales[features], (self.m + 16) * UNIT * np.abs(self.means[features])
            fits = np.abs(self.means[features] - mean) <= 1e-9 * scale + rounding
            fits &= np.abs(deviation - scale) <= 1e-9 * scale + rounding
            return np.asarray(features[~fits])

        listed, others = np.flatnonzero(self.constant), np.flatnonzero(~self.constant)
        for some in self.blocks(listed):
            block = self.matrix.columns(some, self.rows)
            _, deviation = self.moments(block)
            constant = ~((deviation >= 2.0**-1022) & (deviation < np.inf)) if self.standardized else ~block.any(axis=1)
            need(constant.all(), "A column listed as constant is not.")
        for some in self.blocks(wrong(others, means[others], deviations[others]) if self.standardized else others[:0]):
            exact = self.moments(self.matrix.columns(some, self.rows))
            need(not wrong(some, *exact).size, "The means and scales are not those of the matrix.")

    def moments(self, block: Array) -> tuple[Array, Array]:
        """Weighted means and deviations, with care for large means and extreme scales; exactly 0 if constant."""
        means = block[:, :1].copy()
        for _ in range(2):
            means += ((block - means) @ self.w)[:, None]
        block = np.where((block == block[:, :1]).all(axis=1, keepdims=True), 0.0, block - means)
        largest = np.abs(block).max(axis=1)
        block /= np.where(largest > 0.0, largest, 1.0)[:, None]
        return means[:, 0], np.asarray(largest * np.sqrt(np.square(block) @ self.w))

    def norm_bound(self, squares: Array) -> Array:
        """Upper bounds on norms, from sums of squares; the small term pays for all that underflow can take."""
        return np.asarray(np.sqrt(squares + self.m * 1e-307) * (1.0 + (self.m + 16) * UNIT))

    def blocks(self, features: Array) -> Iterator[Array]:
        """The features in groups whose dense block has a bounded size."""
        step = max(BATCH // self.m, 1)
        return (features[first : first + step] for first in range(0, features.size, step))

    def columns(self, features: Array) -> Array:
        """Columns of ``A`` as rows, each entry within 2 units of round-off (relative); constant columns are zero."""
        block = self.matrix.columns(features, self.rows)
        if self.standardized:
            block -= self.means[features, None]
            block /= self.scales[features, None]
        block[self.constant[features]] = 0.0
        return block

    def objective(self, support: Array, coef: Array, intercept: float) -> float:
        """The objective of the model, rounded up.

        The loss falls with the margin, so a margin lowered by its error covers all rounding of the predictor.
        """
        chosen = np.zeros(self.n, np.bool_)
        chosen[in_range(support, self.n)] = True
        need(support.size == coef.size == np.count_nonzero(chosen), "The support of the model is malformed.")
        barred = (self.excluded | self.constant) & ~self.included
        need(not (chosen & barred).any(), "The model uses a feature that is excluded or constant.")
        priced = int(np.count_nonzero(chosen | self.included))
        need(priced <= self.k, f"The model has {priced} features, but the budget is {self.k}.")
        x, offsets = coef * self.scales[support], coef * self.means[support]
        b = math.fsum((intercept, *offsets.tolist()))
        b_error = 4.0 * UNIT * (abs(intercept) + math.fsum(np.abs(offsets)))
        if not self.intercept:
            need(abs(b) <= b_error, "The model has an intercept, but the problem has none.")
            b = b_error = 0.0
        predictor, size = np.full(self.w.size, b), np.full(self.w.size, abs(b))
        for some in self.blocks(np.arange(support.size)):
            block = self.columns(support[some])
            predictor += x[some] @ block
            size += np.abs(x[some]) @ np.abs(block)
        margin = self.y * predictor - ((support.size + 10) * UNIT * size + 2.0 * b_error)
        tail = exp(-np.minimum(np.abs(margin), 700.0))
        losses = np.maximum(-margin, 0.0) - log1p(-tail / (1.0 + tail))  # log(1 + t) = -log(1 - t / (1 + t))
        ridge = math.fsum(x * x) / self.gamma
        total = (math.fsum(self.w * losses) + ridge + self.mu * priced) * (1.0 + 40.0 * UNIT) + 1e-300
        need(math.isfinite(total), "The objective of the model is not finite.")
        return total

    def balanced(self, P: Array) -> tuple[Array, Array]:
        """Dual points and their ``α``; with an intercept the heavier class is scaled down until both sums agree.

        From here on ``α`` is exact, and stands for a ``p`` that is smaller by at most 7 units of round-off.
        """
        if self.intercept:
            parts = P[:, : self.positives], P[:, self.positives :]
            sums = parts[0] @ self.dual_w[: self.positives], parts[1] @ self.dual_w[self.positives :]
            least = np.minimum(*sums)
            factors = [np.where(one > 0.0, least / np.where(one > 0.0, one, 1.0), 1.0)[:, None] for one in sums]
            P = np.concatenate([part * factor for part, factor in zip(parts, factors, strict=True)], axis=1)
        alpha = P * self.dual_w
        alpha *= self.y * (1.0 - 2.0**-51)
        return P, alpha

    def imbalance(self, alpha: Array, sharp: bool) -> Array:
        """Upper bounds on δ: one class scaled by 1 - δ makes ``Σ α`` exactly zero."""
        if not self.intercept:
            return np.zeros(len(alpha))
        high, low = alpha[:, : self.positives].sum(axis=1), -alpha[:, self.positives :].sum(axis=1)
        if sharp:
            difference = np.abs([math.fsum(line) for line in alpha.tolist()])
        else:
            difference = np.abs(high - low) + (self.m + 4.0) * UNIT * (high + low)
        most = np.maximum(high, low)
        delta = difference / most * (1.0 + (2.0 * self.m + 16.0) * UNIT)
        return np.where(most > 1e-290, np.minimum(delta, 1.0), 1.0)

    def product_error(self, sharp: bool) -> float:
        """The error of a computed ``c_j`` in units of ``‖A^j‖ ‖α‖``.

        The entries of ``A`` are off by 2 units of round-off if standardised, a sum of m products by m, and centring
        after the sum adds a few. The sharp way splits both vectors after b bits: the product of the leading parts is
        exact, the rests are at most √m 2⁻ᵇ of their vectors, and the last two sums only round ``c_j`` itself.
        """
        rest = 2.1 * (self.m + 10.0) * math.sqrt(self.m) / 2.0 ** leading_bits(self.m)
        return UNIT * float(rest + 3.0 * self.standardized if sharp else self.m + 10.0)


# -- logarithm, exponential, entropy ---------------------------------------------------------------------------------


def log1p(x: Array) -> Array:
    """``log(1 + x)`` for x in [-1/2, 0], within 10 units of round-off (relative, but for underflow).

    Where ``1 + x`` is below √½ it is doubled; ``log(1 + t) = 2 atanh(z)`` with ``z = t / (t + 2)``, ``t`` exact and
    ``|z| < 0.1716``. Error of ``z``: 2 units. The series of ``2 atanh(z) / z`` is cut after z²⁰, a relative remainder
    below z²²/23/(1 - z²) < 1e-18; its first term dominates, so that Horner's rounding is 1.1 units. With the last
    product 4.2 units, of at most 0.347. Subtracting ln 2 leaves at least 0.346: 4.2 units, 2 for ln 2, 1 to subtract.
    """
    doubled = (x < -0.29289321881345254).astype(np.float64)
    t = x * (1.0 + doubled)
    t += doubled
    z = t / (t + 2.0)
    square = z * z
    series = square * (2.0 / 21.0)
    for power in range(19, 1, -2):
        series += 2.0 / power
        series *= square
    series += 2.0
    series *= z
    doubled *= LN2
    series -= doubled
    return np.asarray(series)


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
    totals, step = np.empty(len(P)), max((1 << 15) // w.size, 1)
    for first in range(0, len(P), step):
        p = P[first : first + step]
        s = np.minimum(p, 1.0 - p)
        fraction, exponent = np.frexp(s)
        fraction -= 1.0
        logs = log1p(np.concatenate((fraction, -s)))
        log_s, log_rest = logs[: len(s)], logs[len(s) :]
        log_s += exponent * LN2
        log_s *= s
        log_rest *= 1.0 - s
        log_s += log_rest
        totals[first : first + step] = -(log_s @ w)
    return totals


# -- bounds ----------------------------------------------------------------------------------------------------------


class Bounds:
    """What dual points prove: one row per node, one column per feature.

    By Cauchy-Schwarz rounding moves ``c_j`` by at most `product_error` ‖A^j‖ ‖α‖. With an intercept the exactly
    balanced point is the one at hand with one class scaled by some 1 - δ: that moves ``c_j`` by at most δ ‖A^j‖ ‖α‖,
    and H being concave with H(0) = 0, leaves at least 1 - δ of the entropy (and 1 - 7u after what `balanced` takes). So
    ``|c_j|`` widened by ``reach ‖A^j‖`` gives ``q`` from above, and D falls in every q. All further sums have terms of
    known size, of which ``slack`` is the share that rounding can have. Upwards, ``H(p - ε) ≤ H(p) + H(ε)`` with
    ``H(ε) ≤ 41 ε``, and q is too large by at most γ |c| times the error.
    """

    def __init__(self, problem: Problem, P: Array, alpha: Array, C: Array, norms: Array, sharp: bool) -> None:
        size, delta = problem.norm_bound(np.einsum("ij,ij->i", alpha, alpha)), problem.imbalance(alpha, sharp)
        reach = (problem.product_error(sharp) + delta) * size * (1.0 + 8.0 * UNIT)
        total, share = entropy(P, problem.dual_w), (problem.m + 32.0) * UNIT
        self.mu, self.entropy = problem.mu, total * (1.0 - share) * (1.0 - delta)
        widened = np.abs(C)
        widened += reach[:, None] * norms
        self.width = total * 4.0 * share + 42.0 * (delta + 8.0 * UNIT)
        self.width += 1.01 * problem.gamma * reach * (widened @ norms)
        self.gain = np.multiply(widened, widened, out=widened)
        self.gain *= 0.25 * problem.gamma * (1.0 + 16.0 * UNIT)
        self.width += 50.0 * UNIT * self.gain.sum(axis=1)
        self.gain -= self.mu

    def at(self, inside: Array, free: Array, kappa: Array) -> Array:
        """Both ends of ``D`` for nodes with these features in and free, and ``kappa`` of the budget left."""
        columns = self.gain.shape[1]
        gains = np.maximum(self.gain, 0.0)
        gains *= free
        fixed, top = np.einsum("ij,ij->i", self.gain, inside), gains.sum(axis=1)
        self.kappa, self.last, self.following = kappa, np.zeros(len(gains)), np.zeros(len(gains))
        tight = np.flatnonzero(np.count_nonzero(gains, axis=1) >= kappa)
        if tight.size:  # only here the budget has a say: sort what it can choose from, two zeros in front
            left = np.clip(kappa[tight], 0, columns)[:, None]
            most = min(int(left.max()) + 1, columns)
            order = np.pad(np.sort(gains[tight], axis=1)[:, columns - most :], ((0, 0), (2, 0)))
            place = most + 2 - left
            top[tight] = np.einsum("ij,ij->i", order, np.arange(most + 2) >= place)
            self.last[tight] = np.take_along_axis(order, np.minimum(place, most + 1), axis=1)[:, 0]
            self.following[tight] = np.take_along_axis(order, place - 1, axis=1)[:, 0]
        price = self.mu * np.count_nonzero(inside, axis=1)
        slack = (columns + 16.0) * UNIT * (self.entropy + (fixed + 2.0 * price) + top) + 1e-295
        self.lower = self.entropy - fixed - top - slack
        self.width += 2.0 * slack
        return ends(self.lower, self.width)

    def flipped(self, row: Array, column: Array, side: Array) -> Array:
        """The same with a free feature on the other side of a decision.

        Out: its gain is lost and the next one moves up. In: it takes the place of the last one chosen, unless chosen
        itself, and pays its price whatever its gain; impossible if the budget is spent.
        """
        gain, last, following = self.gain[row, column], self.last[row], self.following[row]
        positive = np.maximum(gain, 0.0)
        change = np.where(side > 0, np.maximum(positive - following, 0.0), np.maximum(positive, last) - gain)
        change[(side < 0) & (self.kappa[row] < 1)] = np.inf
        slack = 8.0 * UNIT * (np.abs(self.lower[row]) + np.abs(gain) + last + following)
        return ends(self.lower[row] + change - slack, self.width[row] + 2.0 * slack)


def ends(lower: Array, width: Array) -> Array:
    """Both ends of bounds; one that is not a number, after an overflow, proves nothing."""
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), lower + width
    return np.stack((lower, np.where(np.isnan(upper), np.inf, upper)))


class Columns:
    """Dense columns of ``A`` for some features, kept if they fit and gathered for every use if not."""

    def __init__(self, problem: Problem, features: Array) -> None:
        self.kept: Array | None = None
        self.problem, self.features = problem, features
        self.norms = np.empty(features.size)
        kept = np.empty((features.size, problem.w.size)) if features.size * problem.m <= BLOCK else None
        for some, block in self.parts():
            self.norms[some] = problem.norm_bound(np.einsum("ij,ij->i", block, block))
            if kept is not None:
                kept[some] = block
        self.kept = kept

    def parts(self) -> Iterator[tuple[Any, Array]]:
        """Positions among the features, and their dense columns as rows."""
        if self.kept is not None:
            yield slice(None), self.kept
            return
        for some in self.problem.blocks(np.arange(self.features.size)):
            yield some, self.problem.columns(self.features[some])

    def points(self, x: Array, b: Array) -> tuple[Array, Array]:
        """The dual points (and ``α``) that belong to these models; rounding them is harmless."""
        predictor = np.repeat(b[:, None], self.problem.w.size, axis=1)
        for some, block in self.parts():
            predictor += x[:, some] @ block
        predictor *= self.problem.y
        return self.problem.balanced(np.clip(1.0 / (1.0 + np.exp(predictor)), 0.0, 1.0))

    def products(self, alpha: Array, sharp: bool) -> Array:
        """``Aᵀα``; the sharp way multiplies leading bits without rounding."""
        C = np.empty((len(alpha), self.features.size))
        for some, block in self.parts():
            if sharp:
                (high, low), (alpha_high, alpha_low) = leading(block), leading(alpha)
                C[:, some] = alpha_high @ high.T + (alpha_high @ low.T + alpha_low @ block.T)
            else:
                C[:, some] = alpha @ block.T
        return C


def leading_bits(m: int) -> int:
    """How many bits the entries of two vectors may have for every partial sum of their product to be exact."""
    return (53 - math.ceil(math.log2(m + 1))) // 2


def leading(rows: Array) -> tuple[Array, Array]:
    """Each row split exactly: multiples of a power of two with few leading bits, and what is left."""
    exponent = np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1]
    shift = np.ldexp(1.5, 52 - leading_bits(rows.shape[1]) + exponent)
    high = (rows + shift) - shift
    return high, rows - high


def root_bounds(problem: Problem, relevant: Array, sharp: bool) -> Bounds:
    """What the dual point of the root proves: all columns from one pass, those that need more digits again."""
    m, alpha, means, scales = problem.m, problem.root_alpha, problem.means, problem.scales
    relevant = relevant & ~problem.constant
    C = np.where(problem.constant, 0.0, (problem.raw - means * alpha.sum()) / scales)
    norms = (problem.raw_norms + math.sqrt(m) * np.abs(means)) / scales * (1.0 + 8.0 * UNIT)
    norms[problem.constant] = 0.0
    again = np.flatnonzero(relevant & (np.abs(means) > 8.0 * scales))
    if sharp:
        norms *= (m + 10.0) * UNIT / problem.product_error(sharp) * (1.0 + 8.0 * UNIT)
        cost = np.where(relevant, (np.abs(C) + UNIT * norms) * norms, -1.0)
        again = np.argsort(-cost)[: max(BLOCK // m, 1)]
    columns = Columns(problem, again)
    C[again], norms[again] = columns.products(alpha, sharp)[0], columns.norms
    return Bounds(problem, problem.root_point, alpha, C[None], norms, sharp)


# -- the tree --------------------------------------------------------------------------------------------------------


class Tree:
    """The search tree: who is whose parent, in an order in which every subtree is a range of positions."""

    def __init__(self, header: Header, arrays: dict[str, Array], features: int) -> None:
        parts = [[arrays[f"tree{chunk:06d}_{name}"] for name in CHUNK] for chunk in range(header["chunks"])]
        for nodes, *lists in parts:
            need(nodes["screened"].min(initial=0) >= 0 and nodes["size"].min(initial=-1) >= -1, "A count is negative.")
            screened, size = (np.maximum(nodes[name], 0).sum(dtype=np.int64) for name in ("screened", "size"))
            need([part.size for part in lists] == [screened, size, size], "The counts of a chunk do not add up.")
        nodes, screened, self.feature, self.value = (np.concatenate(lists) for lists in zip(*parts, strict=True))
        self.n = nodes.size
        need(self.n == header["nodes"], "The number of nodes is not the one of the header.")
        need(np.isfinite(nodes["intercept"]).all(), "A point is not finite.")
        self.intercept, self.branch = nodes["intercept"], nodes["decision"].astype(np.int64)
        self.screened, self.size = nodes["screened"].astype(np.int64), nodes["size"].astype(np.int64)
        need(not self.screened[self.size < 0].any(), "A node without a point screens features.")
        in_range(self.feature, features)
        self.code, self.side = decoded(screened, features)
        self.first_code, self.first_entry = (np.cumsum(c) - c for c in (self.screened, np.maximum(self.size, 0)))
        self.branching = np.flatnonzero(self.branch)
        self.branch_code, self.branch_side = decoded(self.branch[self.branching], features)
        self.link(nodes["node"], nodes["parent"])

    def link(self, name: Array, parent: Array) -> None:
        """Find parents and children, and refuse anything but one tree with every branch in its place."""
        n, order = self.n, np.argsort(name, kind="stable")
        need((name >= 0).all() and (np.diff(name[order]) > 0).all(), "Two nodes have the same number.")
        need(parent[0] == -1 and self.branch[0] == 0, "The tree does not begin with a root.")
        need((parent[1:] >= 0).all(), "The tree has two roots.")
        up = order[np.minimum(np.searchsorted(name, parent[1:], sorter=order), n - 1)]
        need((name[up] == parent[1:]).all(), "A node has an unknown parent.")
        need((up < np.arange(1, n)).all(), "A node comes before its parent.")
        children = np.bincount(up, minlength=n)
        need(children.max() <= 2, "A node has more than two children.")
        below, start = np.append(np.argsort(up, kind="stable") + 1, (n, n)), np.cumsum(children) - children
        first, second = np.where(children > 0, below[start], n), np.where(children > 1, below[start + 1], n)
        left, right = (np.append(self.branch, 0)[child] for child in (first, second))
        need((left[children == 1] == 0).all(), "A branch of a node is missing.")
        need(((left == -right) & (left != 0))[children == 2].all(), "The two branches of a node are not opposite.")
        self.up, self.leaf, self.levels = np.append(-1, up), children == 0, [np.zeros(1, np.int64)]
        while (found := np.concatenate((first[self.levels[-1]], second[self.levels[-1]]))).min() < n:
            self.levels.append(found[found < n])
        extent, position = np.ones(n + 1, np.int64), np.zeros(n + 1, np.int64)
        extent[n] = 0
        for level in reversed(self.levels):
            extent[level] += extent[first[level]] + extent[second[level]]
        for level in self.levels:
            position[first[level]] = position[level] + 1
            position[second[level]] = position[level] + 1 + extent[first[level]]
        self.position, self.end = position[:n], position[:n] + extent[:n]

    def events(self) -> tuple[Array, Array, Array, Array]:
        """Where along the order which feature starts (1) or ceases (-1) to be decided on which side, sorted."""
        node, _ = ranges(self.first_code, self.screened)
        at = self.position[self.branching], self.end[self.branching], self.position[node] + 1, self.end[node]
        position = np.concatenate(at)
        feature = np.concatenate((self.branch_code, self.branch_code, self.code, self.code))
        side = np.concatenate((self.branch_side, self.branch_side, self.side, self.side))
        step = np.repeat(np.array((1, -1, 1, -1), np.int8), [part.size for part in at])
        order = np.argsort(position, kind="stable")
        return position[order], feature[order], side[order], step[order]


class Regions:
    """The bounds of all regions of the tree: leaves, and what screening cuts off."""

    def __init__(self, problem: Problem, tree: Tree, status: Array, inherited: Array) -> None:
        self.problem, self.tree, self.inherited = problem, tree, inherited
        used = status >= 0
        used[tree.feature], used[tree.code], used[tree.branch_code] = True, True, True
        features = np.flatnonzero(used) if used.any() else np.zeros(1, np.int64)
        self.columns, self.status = Columns(problem, features), status[features]
        self.local = np.zeros(status.size, np.int64)
        self.local[features] = np.arange(features.size)
        self.own, self.cut = np.full((2, tree.n), -np.inf), np.full((2, tree.n), np.inf)
        self.empty, self.points = np.zeros(tree.n, np.bool_), 0

    def evaluate(self, wanted: Array, sharp: bool) -> None:
        """Bounds of the nodes wanted, in batches of consecutive positions; what is decided is a running sum.

        A node where the budget is exceeded or a feature is both in and out is empty, and so is all below it.
        """
        width, order = self.status.size, np.argsort(self.tree.position)
        rows = max(BATCH // max(width, self.problem.m), 1)
        position, feature, side, step = self.tree.events()
        running = [(self.status == sign).astype(np.int8) for sign in (1, -1)]
        for first in range(0, order.size, rows):
            nodes, decided = order[first : first + rows], []
            some = slice(*np.searchsorted(position, (first, min(first + rows, order.size))))
            place = (position[some] - first) * width + self.local[feature[some]]
            for sign, carried in zip((1, -1), running, strict=True):
                counts, here = np.zeros((nodes.size, width), np.int8), side[some] == sign
                counts[0] = carried
                np.add.at(counts.reshape(-1), place[here], step[some][here])
                np.cumsum(counts, axis=0, out=counts)
                carried[:] = counts[-1]
                decided.append(counts > 0)
            inside, outside = decided
            kappa = self.problem.k - np.count_nonzero(inside, axis=1)
            self.empty[nodes] = (kappa < 0) | (inside & outside).any(axis=1)
            chosen = np.flatnonzero(wanted[nodes] & ~self.empty[nodes])
            if chosen.size:
                self.bound(nodes[chosen], inside[chosen], outside[chosen], kappa[chosen], sharp)

    def bound(self, nodes: Array, inside: Array, outside: Array, kappa: Array, sharp: bool) -> None:
        """Bounds of these nodes and of what they screen away, from their own points."""
        tree, columns, x = self.tree, self.columns, np.zeros(inside.shape)
        row, entry = ranges(tree.first_entry[nodes], tree.size[nodes])
        x[row, self.local[tree.feature[entry]]] = tree.value[entry]
        P, alpha = columns.points(x, tree.intercept[nodes])
        bounds = Bounds(self.problem, P, alpha, columns.products(alpha, sharp), columns.norms, sharp)
        self.own[:, nodes] = np.maximum(self.own[:, nodes], bounds.at(inside, ~(inside | outside), kappa))
        self.points += nodes.size
        row, entry = ranges(tree.first_code[nodes], tree.screened[nodes])
        if row.size:
            column, side = self.local[tree.code[entry]], tree.side[entry]
            flips, into, out_of = bounds.flipped(row, column, side), inside[row, column], outside[row, column]
            flips[:, np.where(side > 0, into, out_of)] = np.inf  # decided so already: nothing is cut off
            flips[:, np.where(side > 0, out_of, into)] = -np.inf  # decided against: this ends here, all below is empty
            starts = np.flatnonzero(np.diff(row, prepend=-1))
            self.cut[:, nodes[row[starts]]] = np.minimum.reduceat(flips, starts, axis=1)

    def least(self) -> Array:
        """Both ends of the least bound each node contributes, as a leaf or by what it screens away."""
        best = self.own.copy()
        best[:, 0] = np.maximum(best[:, 0], self.inherited)
        for level in self.tree.levels[1:]:
            best[:, level] = np.maximum(best[:, level], best[:, self.tree.up[level]])
        least = np.where(self.tree.leaf, best, np.maximum(best, self.cut))
        return np.where(self.empty, np.inf, least)

    def above(self, short: Array) -> Array:
        """These nodes and all their ancestors."""
        for level in self.tree.levels[:0:-1]:
            short[self.tree.up[level[short[level]]]] = True
        return short


def lower_bound(
    problem: Problem, header: Header, arrays: dict[str, Array], wanted: float
) -> tuple[tuple[float, float], dict[str, int]]:
    """The least bound over all regions of the proof, both ends, and how many leaves, nodes and points there are.

    First in ordinary precision, from the points most likely to matter; where that falls short of what is wanted, with
    more digits and from all points concerned.
    """
    status = np.where(problem.constant | problem.excluded, -1, 0).astype(np.int8)
    status[problem.included] = 1
    codes, sides = decoded(arrays["root_screened"], problem.n)
    need(np.unique(codes).size == codes.size, "The root decides a feature twice.")
    need((status[codes] != -sides).all(), "The root decides a feature against the problem.")
    codes, sides = codes[status[codes] == 0], sides[status[codes] == 0]
    nodes, kappa = get(header, "nodes", int), np.array([problem.k - np.count_nonzero(status == 1)])
    for sharp in (False, True):
        bounds = root_bounds(problem, status >= 0, sharp)
        root = bounds.at((status == 1)[None], (status == 0)[None], kappa)[:, 0]
        flips = bounds.flipped(np.zeros(codes.size, np.int64), codes, sides).min(axis=1, initial=np.inf)
        ends = np.maximum(root, flips) if nodes else root
        if ends[0] >= wanted:
            break
    counts = {"leaves": 1, "nodes": nodes, "points": 1}
    need((nodes > 0) == (header["chunks"] > 0), "The number of chunks does not fit the number of nodes.")
    if nodes:
        tree = Tree(header, arrays, problem.n)
        status[codes] = sides
        regions = Regions(problem, tree, status, root)
        regions.evaluate((tree.size >= 0) & (tree.leaf | (tree.screened > 0)), sharp=False)
        least = regions.least()
        if least[0].min() < wanted:
            regions.evaluate((tree.size >= 0) & regions.above(least[0] < wanted), sharp=True)
            least = regions.least()
        ends = np.minimum(ends, least.min(axis=1))
        counts |= {"leaves": int(np.count_nonzero(tree.leaf)), "points": 1 + regions.points}
    return (float(ends[0]), float(ends[1])), counts
