"""A small branch and bound that writes proofs, independent of the solver: slow, plain, and full of detours.

It exists to test the checker, so it takes every liberty the format allows: continuation nodes,
nodes without points, branches on features already decided, screening decisions that are no news, early ends.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np
from scipy import sparse
from scipy.special import expit, xlog1py, xlogy

NODE = np.dtype(
    [
        ("parent", "<i8"),
        ("decision", "<i4"),
        ("screened", "<i4"),
        ("size", "<i4"),
        ("intercept", "<f8"),
    ]
)


# -- files -------------------------------------------------------------------------------------------------------------


def load(path):
    """Header and arrays of a proof, to be tampered with."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def save(path, header, arrays):
    """Write header and arrays; anything goes, object arrays included."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in {"header": np.frombuffer(text, np.uint8), **arrays}.items():
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
            archive.writestr(f"{name}.npy", stream.getvalue())


def matrix_fingerprint(X):
    """SHA-256 of a matrix, in the form in which it is stored."""
    if not sparse.issparse(X):
        return "dense", hashlib.sha256(np.ascontiguousarray(np.asarray(X, np.float64) + 0.0).tobytes()).hexdigest()
    columns = sparse.csc_array(X.astype(np.float64), copy=True)
    columns.sum_duplicates()
    columns.eliminate_zeros()
    columns.sort_indices()
    parts = columns.indptr.astype("<i8"), columns.indices.astype("<i8"), columns.data.astype("<f8")
    return "sparse", hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


# -- the search --------------------------------------------------------------------------------------------------------


class Prover:
    """Branch and bound for one problem; statuses are dense vectors of 1 (in), -1 (out) and 0 (free)."""

    def __init__(self, problem, rng, gap=1e-6, node_limit=200, detours=0.1, screening="nodes"):
        self.problem, self.rng, self.gap, self.node_limit = problem, rng, gap, node_limit
        self.detours, self.screening = detours, screening
        self.A = np.asarray(problem.design.columns(np.arange(problem.n_features)))
        self.y, self.w = problem.y, problem.weights
        self.records, self.screened, self.points, self.places = [], [], [], {}
        self.contributions = []
        self.upper, self.model = np.inf, None

    def fit(self, features):
        """A few damped Newton steps for the ridge-penalised fit on some columns; exactness does not matter."""
        A = self.A[:, features]
        if self.problem.fit_intercept:
            A = np.column_stack((A, np.ones(self.y.size)))
        ridge = np.full(A.shape[1], 2.0 / self.problem.gamma)
        ridge[len(features) :] = 0.0
        x = np.zeros(A.shape[1])

        def value(x):
            return self.w @ np.logaddexp(0.0, -self.y * (A @ x)) + 0.5 * ridge @ (x * x)

        for _ in range(40):
            p = expit(-self.y * (A @ x))
            gradient = ridge * x - A.T @ (self.w * self.y * p)
            hessian = (A.T * (self.w * p * (1.0 - p))) @ A + np.diag(ridge)
            size = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
            scaled = hessian / size / size[:, None] + 1e-15 * np.eye(size.size)
            step = -np.linalg.lstsq(scaled, gradient / size, rcond=1e-15)[0] / size
            length, old = 1.0, value(x)
            while length > 1e-6 and not value(x + length * step) <= old:
                length *= 0.5
            x = x + length * step
            if -gradient @ step <= 1e-15 * old:
                break
        full = np.zeros(self.problem.n_features)
        full[features] = x[: len(features)]
        full[self.problem.design.constant] = 0.0  # where lstsq may leave noise, depending on the processor
        return full, float(x[-1]) if self.problem.fit_intercept else 0.0

    def dual(self, x, b):
        p = expit(-self.y * (self.A @ x + b))
        if self.problem.fit_intercept:
            mass = self.w * p
            sums = {side: mass[self.y == side].sum() for side in (1.0, -1.0)}
            heavy = max(sums, key=sums.get)
            if sums[heavy] > 0.0:
                p = np.where(self.y == heavy, p * sums[-heavy] / sums[heavy], p)
        return p

    def bound(self, p, status):
        """``D(p)`` of a node, straight from its definition."""
        kappa = self.problem.k - int((status == 1).sum())
        if kappa < 0:
            return np.inf
        q = 0.25 * self.problem.gamma * (self.A.T @ (self.w * self.y * p)) ** 2
        gains = np.sort(np.maximum(q[status == 0] - self.problem.mu, 0.0))[::-1]
        entropy = self.w @ (-xlogy(p, p) - xlog1py(1.0 - p, -p))
        return entropy + (self.problem.mu - q[status == 1]).sum() - gains[:kappa].sum()

    def flips(self, p, status):
        """For every free feature the bounds with it out and with it in."""
        raised = {}
        for j in np.flatnonzero(status == 0):
            other = {}
            for side in (1, -1):
                branch = status.copy()
                branch[j] = side
                other[side] = self.bound(p, branch)
            raised[int(j)] = other
        return raised

    def screen(self, p, status, level):
        """Decisions whose other branch lies above ``level``; now and then also some that are wrong but honest."""
        decisions = []
        for j, other in self.flips(p, status).items():
            for side in (1, -1):
                if other[-side] > level:
                    decisions.append((j, side, other[-side]))
                    break
        return decisions

    def try_model(self, features):
        """Take a support as the incumbent if it is better."""
        features = np.union1d(np.asarray(features, dtype=np.int64), self.problem.include)
        if features.size > self.problem.k:
            return
        x, b = self.fit(features)
        coef, intercept = self.problem.to_data_units(x, b)
        value = self.problem.objective(coef, intercept)
        if value < self.upper:
            self.upper, self.model = value, (features, coef[features], intercept)

    def point(self, status):
        """The better of two simple dual points for a node, as the model it belongs to."""
        inside, free = np.flatnonzero(status == 1), np.flatnonzero(status == 0)
        kappa = self.problem.k - inside.size
        x, b = self.fit(np.concatenate((inside, free)))
        chosen = free[np.argsort(-np.abs(x[free]))[:kappa]]
        chosen = chosen[x[chosen] ** 2 > 0.3 * self.problem.gamma * self.problem.mu]
        support = np.concatenate((inside, chosen))
        self.try_model(support)
        candidates = [(x, b), self.fit(support)]
        return max(candidates, key=lambda xb: self.bound(self.dual(*xb), status))

    def run(self):
        problem = self.problem
        status = np.zeros(problem.n_features, dtype=int)
        status[problem.excluded] = -1
        status[problem.included] = 1
        self.try_model([])
        self.root_dual = self.dual(*self.point(status))
        self.root_bound = self.bound(self.root_dual, status)
        self.root_screened = []
        if self.root_bound >= self.upper * (1.0 - self.gap):
            self.contributions = [self.root_bound]
            return
        inherited = self.root_bound
        if self.screening != "none":
            for j, side, value in self.screen(self.root_dual, status, self.upper * max(1.0, 1.0 - self.gap)):
                self.root_screened.append(side * (j + 1))
                self.contributions.append(max(value, inherited))
                status[j] = side
        pending = [(status, inherited, -1, 0)]
        number = 0
        while pending:
            pending.sort(key=lambda node: node[1] + 1e-3 * self.rng.random())
            status, inherited, parent, decision = pending.pop(0)
            number += int(self.rng.integers(1, 4))
            self.process(number, status, inherited, parent, decision, pending)

    def record(self, number, parent, decision, screened=(), point=None):
        x, b = point if point is not None else (np.zeros(0), 0.0)
        support = np.flatnonzero(x)
        size = -1 if point is None else support.size
        self.places[number] = len(self.records)
        self.records.append((self.places.get(parent, -1), decision, len(screened), size, b))
        self.screened += screened
        self.points += [(j, x[j]) for j in support]

    def process(self, number, status, inherited, parent, decision, pending):
        if decision != 0:
            j, side = abs(decision) - 1, int(np.sign(decision))
            if status[j] == -side:  # empty: nothing to contribute
                return self.record(number, parent, decision)
            status = status.copy()
            status[j] = side
        if (status == 1).sum() > self.problem.k:
            return self.record(number, parent, decision)
        full = len(self.records) >= self.node_limit
        if full or inherited >= self.upper * (1.0 - self.gap):  # an open leaf, or one that was pruned when popped
            self.contributions.append(inherited)
            return self.record(number, parent, decision)
        if self.rng.random() < self.detours:  # a continuation
            self.record(number, parent, decision)
            return pending.append((status, inherited, number, 0))
        point = self.point(status)
        p = self.dual(*point)
        best = max(inherited, self.bound(p, status))
        if best >= self.upper * (1.0 - self.gap):
            self.contributions.append(best)
            return self.record(number, parent, decision, point=point)
        decisions = self.screen(p, status, self.upper * max(1.0, 1.0 - self.gap)) if self.screening == "nodes" else []
        codes = [side * (j + 1) for j, side, _ in decisions]
        self.contributions += [max(best, value) for _, _, value in decisions]
        if self.rng.random() < self.detours and (status != 0).any():  # no news
            j = int(self.rng.choice(np.flatnonzero(status)))
            codes.append(int(status[j]) * (j + 1))
        self.record(number, parent, decision, codes, point)
        status = status.copy()
        for j, side, _ in decisions:
            status[j] = side
        free = np.flatnonzero(status == 0)
        if (status == 1).sum() > self.problem.k:
            status[status == 1] = 1
        if free.size == 0 or (self.rng.random() < self.detours and (status != 0).any()):
            candidates = np.flatnonzero(status) if free.size == 0 or self.rng.random() < 0.5 else free
            if free.size == 0:
                self.contributions.append(best)
                return None
            j = int(self.rng.choice(candidates))
        else:
            j = int(free[np.argmax(np.abs(point[0][free]))])
        for side in self.rng.permutation((1, -1)):
            pending.append((status, best, number, int(side) * (j + 1)))
        return None

    def write(self, path, chunk=50, X=None):
        """Write what was proved."""
        problem = self.problem
        form, matrix = matrix_fingerprint(X)
        labels = problem.y.astype(np.int8)
        support, coef, intercept = self.model
        arrays = {
            "include": np.asarray(problem.include, np.int64),
            "exclude": np.asarray(problem.exclude, np.int64),
            "constant": np.flatnonzero(problem.design.constant),
            "weights": problem.weights,
            "support": np.asarray(support, np.int64),
            "coef": coef,
            "root_dual": self.root_dual,
            "root_screened": np.array(self.root_screened, np.int32),
        }
        if problem.standardize:
            arrays |= {"means": problem.design.means, "scales": problem.design.scales}
        chunks = 0
        screened, points = 0, 0
        for first in range(0, len(self.records), chunk):
            records = np.array(self.records[first : first + chunk], dtype=NODE)
            more, size = int(records["screened"].sum()), int(np.maximum(records["size"], 0).sum())
            entries = self.points[points : points + size]
            name = f"tree{chunks:06d}_"
            arrays[name + "nodes"] = records
            arrays[name + "screened"] = np.array(self.screened[screened : screened + more], np.int32)
            arrays[name + "feature"] = np.array([j for j, _ in entries], np.int32)
            arrays[name + "value"] = np.array([value for _, value in entries], np.float64)
            screened, points, chunks = screened + more, points + size, chunks + 1
        bound = min([self.upper, *self.contributions])
        header = {
            "format": "safescreen-proof",
            "version": 1,
            "software": "tests",
            "n_samples": problem.n_samples,
            "n_features": problem.n_features,
            "mu": problem.mu,
            "k": problem.k,
            "gamma": problem.gamma,
            "fit_intercept": problem.fit_intercept,
            "standardize": problem.standardize,
            "classes": problem.classes.tolist(),
            "matrix_form": form,
            "fingerprint": {
                "matrix": matrix,
                "labels": hashlib.sha256(labels.tobytes()).hexdigest(),
                "weights": hashlib.sha256(problem.weights.tobytes()).hexdigest(),
            },
            "intercept": intercept,
            "chunks": chunks,
            "claims": {"objective": self.upper, "lower_bound": bound, "status": "node_limit", "rel_gap": self.gap},
        }
        save(path, header, arrays)
        return header, arrays


def prove(path, X, y, seed=0, gap=1e-6, node_limit=200, detours=0.1, screening="nodes", chunk=50, **terms):
    """Solve a problem and write the proof; returns the prover."""
    from safescreen.problem import Problem

    stated = {"fit_intercept": False, "standardize": False, **terms}
    prover = Prover(Problem(X, y, **stated), np.random.default_rng(seed), gap, node_limit, detours, screening)
    prover.run()
    prover.write(path, chunk, X)
    return prover


def prove_list(path, X, y, within, goal, **options):
    """A proof of the list of all models so much above the best, or of the minimal ones; returns the prover.

    The tree goes on where it would end if one model were wanted. Then all supports get their fits: those on the list,
    and the others, refuted by them, needed or not.
    """
    from safescreen.testing.reference import admissible_supports, fit_support

    prover = prove(path, X, y, gap=-within, node_limit=2000, **options)
    header, arrays = load(path)
    problem, threshold = prover.problem, prover.upper * (1.0 + within)
    models = []
    for support in admissible_supports(problem):
        columns = prover.A[:, list(support)]
        fit = fit_support(columns, problem.y, problem.weights, problem.gamma, problem.fit_intercept)
        models.append((fit.value + problem.mu * len(support), support, fit))
    models.sort(key=lambda model: model[0])
    good = [set(support) for value, support, _ in models if value <= threshold]
    minimal = [one for one in good if not any(other < one for other in good)]
    is_listed = [set(support) in (minimal if goal == "minimal" else good) for _, support, _ in models]
    models = [models[i] for i in np.argsort(~np.array(is_listed), kind="stable")]
    arrays |= {
        "models_size": np.array([len(support) for _, support, _ in models], np.int32),
        "models_feature": np.array([j for _, support, _ in models for j in support], np.int32),
        "models_value": np.concatenate([fit.x for _, _, fit in models]),
        "models_intercept": np.array([fit.b for _, _, fit in models]),
        "models_objective": np.array([value for value, _, _ in models[: sum(is_listed)]]),
    }
    claims = {"objective": prover.upper, "missing_bound": threshold, "complete": True, "status": "optimal"}
    header |= {"version": 2, "goal": goal, "listed": sum(is_listed), "threshold": threshold, "claims": claims}
    save(path, header, arrays)
    return prover
