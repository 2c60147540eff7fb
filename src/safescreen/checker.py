"""Check a proof of optimality without trusting the program that wrote it; NumPy is all it needs.

Nothing is solved here. A proof is about the data at hand, its tree leaves no model out, and every dual point gives

    D(p) = Σ w_i H(p_i) + Σ_in (μ - q_j) - Σ_{κ largest free} (q_j - μ)₊  ≤  optimum,  q = γ c²/4, c = Aᵀα, α = w y p,

for *any* ``p`` in [0, 1] (with ``Σ α = 0`` if there is an intercept). So points may be computed carelessly, but not
their bounds: these hold in real arithmetic, given IEEE-754 double precision for + - * / and the square root, gradual
underflow, and matrix products that are sums of products in any order, fused or not. Logarithms are computed here.
``docs/proof-format.md`` describes the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Header = dict[str, Any]
Arrays = dict[str, Array]

UNIT = 2.0**-53 * (1.0 + 2.0**-20)  # a hair above the unit round-off, so that first-order bounds cover higher orders
LN2 = 0.6931471805599453  # the nearest double
TOLERANCE, DOUBT = 1e-9, 1e-6  # how far a claim may exceed what holds, and what is certified, relative to the objective
BATCH = 1 << 17  # entries of temporary arrays
NODE = np.dtype({"names": ("parent", "decision", "screened", "size", "intercept"),
                 "formats": ("<i8", "<i4", "<i4", "<i4", "<f8")})  # fmt: skip
TREE: dict[str, Any] = {"nodes": NODE, "screened": "<i4", "feature": "<i4", "value": "<f8"}
MAY_LACK = {"include": "<i8", "exclude": "<i8", "constant": "<i8", "root_screened": "<i4", "weights": "<f8"}
MEMBERS: dict[str, Any] = MAY_LACK | {"header": "|u1", "support": "<i8", "coef": "<f8", "root_dual": "<f8"}
HEADER = {"n_samples": int, "n_features": int, "mu": float, "k": int, "gamma": float, "fit_intercept": bool,
          "standardize": bool, "classes": list, "matrix_form": str, "fingerprint": dict, "intercept": float,
          "chunks": int, "claims": dict}  # fmt: skip
CLAIMS = {"objective": float, "lower_bound": float, "rel_gap": float, "status": str}


class RefusedError(Exception):
    """The proof does not hold; the message says why."""


def need(condition: Any, reason: str) -> None:
    """Refuse the proof unless the condition holds."""
    if not condition:
        raise RefusedError(reason)


def check(file: IO[bytes], X: Any, labels: Array, weights: Array | None, found: dict[str, Any]) -> None:
    """All steps; ``found`` collects what is established. ``X``: doubles, or sparse columns in canonical form.

    That the matrix is the right one matters more than anything found, but its hash need not keep a core waiting.
    """
    at_hand, results = "sparse" if hasattr(X, "tocsr") else "dense", dict[str, Any]()
    with ThreadPoolExecutor(1) as pool:
        hashing = pool.submit(fingerprint, X, at_hand)
        header, arrays = read(file)
        named = ("software", "mu", "k", "gamma", "fit_intercept", "standardize", "classes")
        found["claims"] = header["claims"] | {name: header.get(name) for name in named}
        found["claims"] |= {name: arrays[name].tolist() for name in ("include", "exclude")}
        found["claims"]["weighted"] = bool(np.unique(arrays["weights"]).size > 1)
        try:
            evaluate(Problem(header, arrays, X, labels, weights), header, arrays, results)
        finally:
            same_form = header["matrix_form"] == at_hand
            found["fingerprint"] = hashing.result() if same_form else fingerprint(X, header["matrix_form"])
            same = found["fingerprint"] == header["fingerprint"].get("matrix")
            need(same, "The matrix is not the one of the proof.")
            found |= results


def evaluate(problem: Problem, header: Header, arrays: Arrays, found: dict[str, Any]) -> None:
    """Objective and lower bound, against what is claimed.

    A claim must not contradict what the proof shows in exact arithmetic: it is held against the upper end of the bound,
    but only as long as rounding leaves little in doubt.
    """
    claimed, claimed_bound, claimed_gap, status = (header["claims"][name] for name in CLAIMS)
    value = found["objective"] = problem.objective(arrays["support"], arrays["coef"], header["intercept"])
    need(value <= claimed + TOLERANCE * abs(claimed), f"The objective is {value!r}, not {claimed!r} as claimed.")
    low, doubt, found["nodes"], found["leaves"], found["points"] = lower_bound(problem, header["chunks"], arrays)
    need(math.isfinite(low) and low <= value, "The proof gives no lower bound.")
    found |= {"lower_bound": low, "enclosure": (low, low + doubt), "gap": (value - low) / abs(value)}
    best = low + min(doubt, DOUBT * abs(value)) + TOLERANCE * abs(value)
    need(claimed_bound <= best, f"The lower bound is only {low!r}, not {claimed_bound!r} as claimed.")
    met = value - best <= (claimed_gap + 4.0 * TOLERANCE) * abs(value)
    need(met or status != "optimal", f"The gap is {found['gap']!r}, not {claimed_gap!r} as claimed.")


# -- reading ---------------------------------------------------------------------------------------------------------


def read(file: IO[bytes]) -> tuple[Header, Arrays]:
    """Header and arrays, exactly those that belong there and of the right types; reading also checks every CRC."""
    with zipfile.ZipFile(file) as archive:
        contents = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
        need(len(contents) == len(archive.namelist()), "Two members of the proof have the same name.")
    header: Any = json.loads(load("header", contents["header"], "|u1").tobytes()) if "header" in contents else {}
    need(header.get("format") == "safescreen-proof", "The file is no safescreen proof.")
    need(header.get("version") == 1, f"The proof has version {header.get('version')!r}, but only 1 is known.")
    for group, entries in ((HEADER, header), (CLAIMS, header.get("claims"))):
        for name, kind in group.items():
            value = entries.get(name)
            need(type(value) is kind or (kind is float and type(value) is int), f"The header has no proper {name!r}.")
            need(kind not in (int, float) or math.isfinite(value), f"The header's {name!r} is not finite.")
    chunks = range(min(header["chunks"], len(contents)))
    kinds = MEMBERS | {f"tree{chunk:06d}_{name}": kind for chunk in chunks for name, kind in TREE.items()}
    kinds |= {"means": "<f8", "scales": "<f8"} if header["standardize"] else {}
    missing, unknown = sorted(set(kinds) - set(contents) - set(MAY_LACK)), sorted(set(contents) - set(kinds))
    need(not missing and not unknown, f"The proof lacks the arrays {missing} or has no use for {unknown}.")
    arrays: Arrays = {name: np.empty(0, kind) for name, kind in MAY_LACK.items()}
    return header, arrays | {name: load(name, content, kinds[name]) for name, content in contents.items()}


def load(name: str, content: bytes, kind: Any) -> Array:
    """The array of this type in an ``.npy`` file; its header must be the one NumPy writes, so nothing is unpickled."""
    start = 10 + int.from_bytes(content[8:10], "little")
    array: Array = np.frombuffer(content, kind, offset=start)
    described = array.dtype.descr if array.dtype.names else array.dtype.str
    text = f"{{'descr': {described!r}, 'fortran_order': False, 'shape': ({array.size},), }}"
    same = content[:8] == b"\x93NUMPY\1\0" and content[10:start].rstrip() == text.encode()
    need(same, f"The array {name!r} has a wrong type or shape.")
    need(array.dtype.kind != "f" or np.isfinite(array).all(), f"The array {name!r} contains NaN or infinity.")
    return array


def mask(features: Array, n: int) -> npt.NDArray[np.bool_]:
    """Which features these are."""
    need(not features.size or 0 <= features.min() <= features.max() < n, "A feature is out of range.")
    chosen = np.zeros(n, np.bool_)
    chosen[features] = True
    return chosen


def decoded(codes: Array) -> Array:
    """Features and sides (0 in, 1 out) of decision codes, which are ±(feature + 1)."""
    return np.stack((np.abs(codes.astype(np.int64)) - 1, codes < 0))


def ranges(first: Array, sizes: Array) -> tuple[Array, Array]:
    """For ranges that start here and have these sizes: the range and the index of every element."""
    which = np.repeat(np.arange(sizes.size), sizes)
    return which, np.arange(which.size) + (first - np.cumsum(sizes) + sizes)[which]


def batches(count: int, width: int) -> Iterator[slice]:
    """``0 ... count - 1`` in pieces, so that arrays with rows of this width have a bounded size."""
    step = max(BATCH // width, 1)
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


# -- the data --------------------------------------------------------------------------------------------------------


def dense(block: Any) -> Array:
    """Part of the data as an ordinary array."""
    return np.asarray(block.toarray() if hasattr(block, "toarray") else block)


def fingerprint(X: Any, form: str) -> str:
    """The SHA-256 of the dense or the sparse form, whatever the form at hand."""
    digest, compressed = hashlib.sha256(), hasattr(X, "tocsr")
    if form == "dense":
        lines = X.tocsr() if compressed else X
        for some in batches(*X.shape):
            digest.update(np.add(dense(lines[some]), 0.0, order="C").data)  # which turns -0.0 into 0.0
        return digest.hexdigest()
    parts: tuple[Array, ...] = (X.indptr, X.indices, X.data) if compressed else np.nonzero(X.T)
    if not compressed:
        columns, rows = parts
        parts = np.searchsorted(columns, np.arange(X.shape[1] + 1)), rows, X[rows, columns]
    for part, kind in zip(parts, ("<i8", "<i8", "<f8"), strict=True):
        digest.update(np.ascontiguousarray(part, kind).data)
    return digest.hexdigest()


class Problem:
    """The problem a proof states, once it is certain that it is about the data given."""

    def __init__(self, header: Header, arrays: Arrays, X: Any, labels: Array, weights: Array | None = None) -> None:
        need((header["n_samples"], header["n_features"]) == X.shape, "The matrix has another shape.")
        self.n, self.mu, self.gamma, self.intercept = X.shape[1], *(header[n] for n in ("mu", "gamma", "fit_intercept"))
        need(self.mu >= 0.0 and self.gamma > 0.0 and header["k"] >= 1, "The header has an impossible mu, gamma or k.")
        self.k, named = min(header["k"], self.n), ("include", "exclude", "constant")
        self.included, excluded, self.constant = (mask(arrays[name], self.n) for name in named)
        self.barred = (excluded | self.constant) & ~self.included
        need(not (self.included & excluded).any(), "A feature is both included and excluded.")
        need(np.count_nonzero(self.included) <= self.k, "More features are included than the budget allows.")
        rows = self.check_samples(header, arrays, labels, weights)
        self.check_columns(arrays, X if rows.all() else X[rows], header["standardize"])

    def check_samples(self, header: Header, arrays: Arrays, labels: Array, given: Array | None) -> Array:
        """Labels and weights, if any are given, must be those of the proof; returns which samples count."""
        weights, dual = arrays["weights"], arrays["root_dual"]
        weights = weights if weights.size else np.full(labels.size, 1.0 / labels.size)
        need(weights.size == dual.size == labels.size, "There is not one weight and one dual number per sample.")
        need(dual.min() >= 0.0 and dual.max() <= 1.0, "The dual point of the root is not in [0, 1].")
        need(weights.min() >= 0.0 and abs(math.fsum(weights) - 1.0) <= 1e-9, "The weights are not normalised.")
        expected = weights if given is None else given / given.max() / (given / given.max()).sum()
        need((np.abs(weights - expected) <= 1e-12 * expected).all(), "The weights are not those of the proof.")
        negative, positive = (np.array([y == name for y in labels.tolist()], np.bool_) for name in header["classes"])
        signs, rows = np.where(positive, 1, -1).astype(np.int8), weights > 0.0
        for name, array in (("labels", signs), ("weights", weights)):
            same = hashlib.sha256(array.data).hexdigest() == header["fingerprint"].get(name)
            need(same, f"The {name} are not those of the proof.")
        need((positive ^ negative)[rows].all(), "The labels are not those of the proof.")
        self.w, self.y, self.dual = weights[rows], signs[rows].astype(np.float64), dual[rows]
        self.m, self.dual_w = self.w.size, np.where(self.w < 1e-290, 0.0, self.w)  # p = 0 where a weight hardly exists
        return rows

    def check_columns(self, arrays: Arrays, X: Any, standardize: bool) -> None:
        """Means and scales must be those of the data: ``A = (X - means) / scales`` has mean 0 and deviation 1.

        Columns whose means or scales would cost digits in products with ``X`` are standardised, with an error of 2
        units of round-off per entry. Constant columns must be constant, or zero if not standardised. They count as
        zero and excluded ones may; an infinite scale makes them so. Norms: Σ w |A| ≤ √(Σ w A²) ≤ norm, as Σ w = 1.
        """
        means, scales = self.units = arrays.get("means", np.zeros(self.n)), arrays.get("scales", np.ones(self.n))
        need(means.size == scales.size == self.n and scales.min() > 0.0, "There is not one mean and scale per feature.")
        error = 1e-9 + (self.m + 16) * UNIT * np.abs(means) / scales
        unclear = np.flatnonzero(self.constant | (error > 0.1))
        if unclear.size:
            top, bottom = (dense(end(X[:, unclear], axis=0)).ravel() for end in (np.max, np.min))
            spread = top - bottom if standardize else np.maximum(np.abs(top), np.abs(bottom))
            right = (spread <= 2.0**-1022 * standardize) == self.constant[unclear]
            need(right.all(), "A column listed as constant is not, or the other way round.")
        out = self.constant | self.barred
        hard = ((np.abs(means) > 8.0 * scales) | (scales < 1e-140)) & ~self.constant
        if hard.any():
            X = X.toarray() if hasattr(X, "toarray") else X.copy()
            X[:, hard] = (X[:, hard] - means[hard]) / scales[hard]
        means, scales = np.where(hard, 0.0, means), np.where(hard, 1.0, scales)
        sparse, total, mean = hasattr(X, "power"), self.w.sum(), self.w @ X
        square = self.w @ X.power(2) if sparse else np.einsum("i,ij,ij->j", self.w, X, X)
        need(np.isfinite(square).all(), "The matrix has entries that are not finite or too large.")
        if standardize:
            deviation = (square - means * (2.0 * mean - means * total)) / scales / scales - 1.0
            off = (mean - means * total) / scales
            allowed = 3e-9 + 32.0 * (self.m + 16) * UNIT + np.minimum(off * off, 1.0)  # a wrong mean counts squared
            fits = (np.abs(off) <= error) & (np.abs(deviation) <= allowed)
            need((fits | self.constant).all(), "The means and scales are not those of the matrix.")
        self.X, self.means, self.scales = X, means, np.where(out, np.inf, scales)
        self.norms = (np.sqrt(square + 1e-290) + np.abs(means)) * (1.0 + (self.m + 16) * UNIT + 1e-9) / self.scales

    def objective(self, support: Array, coef: Array, intercept: float) -> float:
        """The objective of the model, rounded up.

        The loss falls with the margin, so a margin lowered by its error covers all rounding of the predictor. For
        ``t = exp(-|margin|)`` any t will do: ``log t`` tells which margin it belongs to, and between that one and the
        right one the loss changes by less than 2 t times their distance (or once, if t is far off).
        """
        chosen = mask(support, self.n)
        need(support.size == coef.size == np.count_nonzero(chosen), "The support of the model is malformed.")
        unusable = self.barred[support] | (self.constant[support] & (coef != 0.0))
        need(not unusable.any(), "The model uses a feature that is excluded or constant.")
        priced = int(np.count_nonzero(chosen | self.included))
        need(priced <= self.k, f"The model has {priced} features, but the budget is {self.k}.")
        offsets, x = (coef * unit[support] for unit in self.units)
        b, b_error = math.fsum((intercept, *offsets)), 4.0 * UNIT * (abs(intercept) + math.fsum(np.abs(offsets)))
        if not self.intercept:
            need(abs(b) <= b_error, "The model has an intercept, but the problem has none.")
            b = b_error = 0.0
        A = (dense(self.X[:, support]) - self.means[support]) / self.scales[support]
        error = (support.size + 10) * UNIT * (np.abs(A) @ np.abs(x) + abs(b)) + 2.0 * b_error
        margin = self.y * (A @ x + b) - error
        size = np.minimum(np.abs(margin), 700.0)
        tail = np.exp(-size)
        off = np.abs(log(tail) + size) + 16.0 * UNIT * size
        losses = np.maximum(-margin, 0.0) - log1p(-tail / (1.0 + tail))  # log(1 + t) = -log(1 - t / (1 + t))
        losses += off * np.where(off < 0.5, 2.0 * tail, 1.0)
        total = math.fsum(self.w * losses) + math.fsum(x / self.gamma * x) + self.mu * priced
        need(math.isfinite(total), "The objective of the model is not finite.")
        return float(total * (1.0 + 40.0 * UNIT) + 1e-300)


# -- bounds ----------------------------------------------------------------------------------------------------------


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


def log(x: Array) -> Array:
    """``log x`` for x in (0, 1), within 12 units: ``x = 2ᵉ f``, where ``e ln 2`` and ``log f`` have the same sign."""
    fraction, exponent = np.frexp(x)
    return log1p(fraction - 1.0) + exponent * LN2


def entropy(P: Array, w: Array) -> Array:
    """``Σ w_i H(p_i)`` for every row, within ``m + 24`` units of round-off (relative, but for underflow).

    ``s = min(p, 1 - p)`` is exact, ``H(p) = -s log s - (1 - s) log(1 - s)`` has positive terms: 16 units a sample.
    """
    totals = np.empty(len(P))
    for some in batches(len(P), 8 * w.size):  # so that it all stays in the cache
        s = np.minimum(P[some], 1.0 - P[some])
        totals[some] = -(s * log(s) + (1.0 - s) * log1p(-s)) @ w
    return totals


class Bounds:
    """What dual points prove: one row per point, one column per feature.

    With an intercept the heavier class is scaled down until both sums agree. From then on ``α`` is exact, and stands
    for a ``p`` that is smaller by at most 7 units of round-off. A sum of m products is off by m units of the sum of
    their sizes, and centring and scaling add a few: (m + 10) units of the norm times ``size`` ≥ √(Σ w p²). The exactly
    balanced point is the one at hand with one class scaled by some 1 - δ: that moves ``c_j`` by at most δ times the
    same and, H being concave with H(0) = 0, leaves at least 1 - δ of the entropy. So ``|c_j|`` widened by ``reach``
    norms gives ``q`` from above, and D falls in every q. All further sums have terms of known size, of which ``slack``
    is the share that rounding can have. Upwards, for ``doubt``, ``H(p - ε) ≤ H(p) + H(ε)`` with ``H(ε) ≤ 41 ε``, and q
    is too large by at most γ |c| times the error. A point far from balance proves nothing, and what is not a number,
    after an overflow, spreads to the least bound, which is then refused.
    """

    def __init__(self, problem: Problem, P: Array, X: Any, features: Any = slice(None)) -> None:
        w, y, m, self.mu, self.k = problem.dual_w, problem.y, problem.m, problem.mu, problem.k
        means, scales, norms = (array[features] for array in (problem.means, problem.scales, problem.norms))
        if problem.intercept:
            sums = np.stack((P @ (w * (y > 0.0)), P @ (w * (y < 0.0))))
            ratio = sums.min(axis=0) / np.maximum(sums, 5e-324)
            P = P * np.where(y > 0.0, ratio[0, :, None], ratio[1, :, None])
        self.alpha = P * w * (y * (1.0 - 2.0**-51))
        total, mass, one = entropy(P, w), np.abs(self.alpha).sum(axis=1), len(P) == 1  # one sum may as well be exact
        moved = np.array([math.fsum(self.alpha[0])]) if one else self.alpha.sum(axis=1)
        delta = (np.abs(moved) / mass + (4.0 if one else m + 4.0) * UNIT) * (2.0 + (4.0 * m + 32.0) * UNIT)
        delta = np.where(mass > 1e-290, np.minimum(delta, 1.0), 1.0) * problem.intercept
        size = np.sqrt(np.square(P) @ w + 1e-300) * (1.0 + (m + 16) * UNIT)
        share, reach = (m + 32.0) * UNIT, ((m + 10.0) * UNIT + delta) * size
        C = np.abs(self.alpha @ X - moved[:, None] * means) / scales + reach[:, None] * norms
        self.gain = np.square(C * (0.5 * math.sqrt(problem.gamma) * (1.0 + 8.0 * UNIT)))  # so that C² does not vanish
        self.doubt = total * 4.0 * share + 42.0 * (delta + 8.0 * UNIT) + 1.01 * problem.gamma * reach * (C @ norms)
        self.doubt += 100.0 * UNIT * (self.gain.sum(axis=1) + self.mu)
        self.entropy, self.useless = total * (1.0 - share) * (1.0 - delta), delta > 1e-8
        self.gain -= self.mu

    def at(self, inside: Array, outside: Array) -> Array:
        """Lower ends of ``D`` for nodes with these features decided."""
        rows, columns = self.gain.shape
        gains = np.maximum(self.gain, 0.0) * ~(inside | outside)
        fixed, top, chosen = np.einsum("ij,ij->i", self.gain, inside), gains.sum(axis=1), inside.sum(axis=1)
        self.inside, self.outside, self.kappa = inside, outside, self.k - chosen
        self.last, self.following = np.zeros((2, rows))
        if (np.count_nonzero(gains, axis=1) >= self.kappa).any():  # only here the budget has a say
            ranked = np.pad(np.sort(gains, axis=1)[:, ::-1], ((0, 0), (1, 1)))  # what is not a number comes first
            row, place = np.arange(rows), np.clip(self.kappa, 0, columns)
            self.last, self.following = ranked[row, place], ranked[row, place + 1]
            top = ranked.cumsum(axis=1)[row, place]
        slack = (columns + 16.0) * UNIT * (self.entropy + (fixed + 2.0 * self.mu * chosen) + top) + 1e-295
        self.lower = self.entropy - fixed - top - slack
        self.doubt += 4.0 * slack
        self.lower[self.useless], self.doubt[self.useless] = -np.inf, 0.0
        return np.asarray(self.lower)

    def flipped(self, row: Array, column: Array, side: Array) -> Array:
        """The same for what each decision cuts off: with its feature on the other side.

        Out: its gain is lost and the next one moves up. In: it takes the place of the last one chosen, unless chosen
        itself, and pays its price whatever its gain; impossible if the budget is spent. If it was decided so before,
        nothing is cut off, and if it was decided against, everything.
        """
        gain, last, following = self.gain[row, column], self.last[row], self.following[row]
        positive, into, out_of = np.maximum(gain, 0.0), self.inside[row, column], self.outside[row, column]
        change = np.where(side == 0, np.maximum(positive - following, 0.0), np.maximum(positive, last) - gain)
        bound = self.lower[row] + change - 8.0 * UNIT * (np.abs(self.lower[row]) + np.abs(gain) + last + following)
        bound[np.where(side == 0, into, out_of | (self.kappa[row] < 1))] = np.inf
        bound[np.where(side == 0, out_of, into)] = -np.inf
        return np.asarray(bound)


# -- the tree --------------------------------------------------------------------------------------------------------


class Tree:
    """The search tree: who is whose parent, what is decided where, and the bounds of all its regions."""

    def __init__(self, chunks: int, arrays: Arrays, n: int) -> None:
        parts = ([arrays[f"tree{chunk:06d}_{name}"] for chunk in range(chunks)] for name in TREE)
        nodes, codes, self.feature, self.value = (np.concatenate(part) for part in parts)
        parent, decision, self.screened, size, self.intercept = (nodes[name] for name in NODE.names or ())
        need(np.isfinite(self.intercept).all(), "A point is not finite.")
        need(self.screened.min() >= 0 and size.min() >= -1, "A count is negative.")
        need(not self.screened[size < 0].any(), "A node without a point screens features.")
        self.n, self.size, self.pointed = nodes.size, np.maximum(size, 0), size >= 0
        self.first_code, self.first_entry = (np.cumsum(c, dtype=np.int64) - c for c in (self.screened, self.size))
        counts = [array.sum(dtype=np.int64) for array in (self.screened, self.size, self.size)]
        need([codes.size, self.feature.size, self.value.size] == counts, "The counts of the tree do not add up.")
        self.codes, self.branched, self.branch = decoded(codes), decision != 0, decoded(np.where(decision, decision, 1))
        self.used = mask(self.feature, n) | mask(self.codes[0], n) | mask(self.branch[0], n)
        need(parent[0] == -1 and decision[0] == 0, "The tree does not begin with a root.")
        need((parent[1:] >= 0).all(), "The tree has two roots.")
        need((parent < np.arange(self.n)).all(), "A node comes before its parent.")
        weights = (None, self.branched[1:], decision[1:])
        children, branches, balance = (np.bincount(parent[1:], some, self.n) for some in weights)
        need(children.max() <= 2, "A node has more than two children.")
        need((branches == 2 * (children == 2)).all(), "A branch of a node is missing.")
        need(not balance.any(), "The two branches of a node are not opposite.")
        self.parent, self.leaf = np.maximum(parent, 0), children == 0

    def decided(self, nodes: Array, status: Array) -> Array:
        """Which features are in and which out at these nodes: the root's status and all decisions on the way up."""
        decided = np.repeat(status[:, None], nodes.size, axis=1)
        row, here = np.arange(nodes.size), nodes
        while (row := row[here > 0]).size:
            here = here[here > 0]
            (feature, side), some = self.branch[:, here], self.branched[here]
            decided[side[some], row[some], feature[some]] = True
            here = self.parent[here]
            which, entry = ranges(self.first_code[here], self.screened[here])
            decided[self.codes[1, entry], row[which], self.codes[0, entry]] = True
        return decided

    def bounds(self, problem: Problem, status: Array, inherited: float) -> tuple[float, float]:
        """The least bound over all regions, leaves and what screening cuts off, and the doubt about it.

        A node where the budget is exceeded or a feature is both in and out is empty, and so is all below it.
        """
        used = np.flatnonzero(self.used | ~status[1])
        for features in (self.feature, self.codes[0], self.branch[0]):
            features[:] = np.searchsorted(used, features)
        X, status, doubt = problem.X[:, used], status[:, used], 0.0
        best, cut = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        for some in batches(self.n, max(problem.m, used.size)):
            nodes = np.arange(some.start, some.stop)
            inside, outside = self.decided(nodes, status)
            empty = (inside.sum(axis=1) > problem.k) | (inside & outside).any(axis=1)
            best[nodes[empty]], useful = np.inf, self.pointed[some] & ~empty
            nodes = nodes[useful]
            x, (row, entry) = np.zeros((nodes.size, used.size)), ranges(self.first_entry[nodes], self.size[nodes])
            x[row, self.feature[entry]] = self.value[entry]
            x /= problem.scales[used]
            predictor = x @ X.T + (self.intercept[nodes] - x @ problem.means[used])[:, None]
            P = 1.0 / (1.0 + np.exp(predictor * problem.y))  # rounding is harmless, and in [0, 1] it is
            bounds = Bounds(problem, P, X, used)
            best[nodes] = bounds.at(inside[useful], outside[useful])
            row, entry = ranges(self.first_code[nodes], self.screened[nodes])
            np.minimum.at(cut, nodes[row], bounds.flipped(row, *self.codes[:, entry]))
            doubt = max(doubt, bounds.doubt.max(initial=0.0))
        best[0], jump = np.maximum(best[0], inherited), self.parent
        for _ in range(self.n.bit_length()):  # every node inherits the best of its 1, 3, 7, ... nearest ancestors
            best, jump = np.maximum(best, best[jump]), jump[jump]
        return float(np.where(self.leaf, best, np.maximum(best, cut)).min()), doubt


def lower_bound(problem: Problem, chunks: int, arrays: Arrays) -> tuple[float, float, int, int, int]:
    """The least bound over all regions of the proof, the doubt about it, and counts of nodes, leaves and points."""
    status, (codes, sides) = np.stack((problem.included, problem.barred)), decoded(arrays["root_screened"])
    bounds = Bounds(problem, problem.dual[None], problem.X)
    root, doubt = float(bounds.at(status[:1], status[1:])[0]), float(bounds.doubt[0])
    if not chunks:
        return root, doubt, 0, 1, 1
    mask(codes, problem.n)
    flips = bounds.flipped(np.zeros(codes.size, np.int64), codes, sides).min(initial=np.inf)
    tree = Tree(chunks, arrays, problem.n)
    status[sides, codes] = True
    least, more = tree.bounds(problem, status, root)
    least = float(np.minimum(np.maximum(root, flips), least))  # unlike Python's, these keep what is not a number
    return least, max(doubt, more), tree.n, int(tree.leaf.sum()), 1 + int(tree.pointed.sum())
