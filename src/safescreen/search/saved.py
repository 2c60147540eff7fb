"""A snapshot as named numbers and flat arrays, and back: what a file can hold."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safescreen.arrays import AnyArray, FloatArray, IndexArray
from safescreen.incumbents import Incumbent
from safescreen.problem import Problem
from safescreen.relaxation import Fixings, Root, bound_at, sharp_bound_at
from safescreen.rounding import UNIT
from safescreen.screening import flipped
from safescreen.search.improving import Pace
from safescreen.search.proof_writer import TreeSoFar
from safescreen.search.snapshot import Snapshot, Tree, Waiting
from safescreen.search.solution import TracePoint
from safescreen.verification.reading import require

ARRAYS = {
    "root_dual": "<f8",
    "root_feature": "<i8",
    "root_value": "<f8",
    "screened": "<i8",
    "support": "<i8",
    "coefficient": "<f8",
    "columns": "<i8",
    "means": "<f8",
    "scales": "<f8",
    "open_bound": "<f8",
    "open_level": "<f8",
    "open_intercept": "<f8",
    "open_bits": "|u1",
    "open_parent": "<i8",
    "open_decision": "<i4",
    "open_length": "<i4",
    "open_feature": "<i4",
    "open_value": "<f4",
    "trace_seconds": "<f8",
    "trace_nodes": "<i8",
    "trace_lower": "<f8",
    "trace_upper": "<f8",
}
"""Every array of a checkpoint but for those of a proof, with its type."""

LARGEST_DRIFT = 1e-9
"""The most by which standard deviations, computed again, may differ: more is no rounding."""


class Saved(NamedTuple):
    """A snapshot in this form."""

    numbers: dict[str, Any]
    arrays: dict[str, AnyArray]


def saved_from(snapshot: Snapshot) -> Saved:
    """A snapshot as numbers and arrays."""
    root, model, tree, pace = snapshot.root, snapshot.incumbent, snapshot.tree, snapshot.pace
    logged = None if tree is None else tree.logged
    numbers = {
        "root_intercept": root.b,
        "root_level": root.level,
        "sharp": root.bound.sharp,
        "intercept": model.b,
        "rounding": model.rounding,
        "nodes": snapshot.nodes,
        "seconds": snapshot.seconds,
        "next_look": pace.next_look,
        "rounds": pace.rounds,
        "work": pace.work,
        "has_looked": pace.has_looked,
        "has_tree": tree is not None,
        "closed_bound": None if tree is None or not math.isfinite(tree.closed_bound) else tree.closed_bound,
        "chunks": None if logged is None else logged.chunks + bool(logged.rest),
        "logged": 0 if logged is None else logged.nodes,
    }
    feature = np.flatnonzero(root.x)
    trace = np.array(snapshot.trace, np.float64).reshape(-1, 4)
    arrays = {
        "root_dual": root.bound.dual,
        "root_feature": feature,
        "root_value": root.x[feature],
        "support": model.support,
        "coefficient": model.x[model.support],
        **{f"trace_{name}": trace[:, i] for i, name in enumerate(("seconds", "nodes", "lower", "upper"))},
        **(_arrays_of(tree) if tree is not None else {}),
    }
    typed = {name: np.asarray(arrays.get(name, ()), dtype).reshape(-1) for name, dtype in ARRAYS.items()}
    return Saved(numbers, typed)


def _arrays_of(tree: Tree) -> dict[str, AnyArray]:
    waiting = {f"open_{name}": array for name, array in tree.waiting._asdict().items()}
    return {"columns": tree.columns, "screened": tree.screened, "means": tree.means, "scales": tree.scales, **waiting}


def snapshot_from(saved: Saved, problem: Problem) -> Snapshot:
    """The snapshot, with the root's bound and the model's objective computed anew: a pass over the matrix.

    What is saved has been checked against the shape of the problem, but for what only a look at the data tells.
    """
    numbers, arrays = saved
    root = _root(problem, saved)
    trace = zip(*(arrays[f"trace_{name}"].tolist() for name in ("seconds", "nodes", "lower", "upper")), strict=True)
    return Snapshot(
        root=root,
        incumbent=_model(problem, saved),
        tree=_tree(problem, saved, root) if numbers["has_tree"] else None,
        nodes=numbers["nodes"],
        seconds=float(numbers["seconds"]),
        trace=[TracePoint(*point) for point in trace],
        pace=Pace(*(numbers[name] for name in Pace._fields)),
    )


def _root(problem: Problem, saved: Saved) -> Root:
    """The root relaxation, bounded anew."""
    numbers, arrays = saved
    x = np.zeros(problem.n_features)
    x[arrays["root_feature"]] = arrays["root_value"]
    bound = (sharp_bound_at if numbers["sharp"] else bound_at)(problem, Fixings.given(problem), arrays["root_dual"])
    return Root(math.inf, bound, x, float(numbers["root_intercept"]), float(numbers["root_level"]))


def _model(problem: Problem, saved: Saved) -> Incumbent:
    """The best model, evaluated anew."""
    numbers, arrays = saved
    support, x = arrays["support"].copy(), np.zeros(problem.n_features)
    allowed = problem.included[support].sum() == problem.include.size and not problem.excluded[support].any()
    require(support.size <= problem.k and allowed, "its model is none of this problem")
    x[support] = arrays["coefficient"]
    with np.errstate(over="ignore", invalid="ignore"):
        coef, intercept = problem.to_data_units(x, float(numbers["intercept"]))
        objective = problem.objective(coef, intercept)
    require(math.isfinite(objective) and objective > 0.0, "its model has no objective")
    return Incumbent(support, x, float(numbers["intercept"]), coef, intercept, objective, float(numbers["rounding"]))


def _tree(problem: Problem, saved: Saved, root: Root) -> Tree:
    """The tree; its bounds are lowered by what the data's own rounding may have changed since."""
    numbers, arrays = saved
    columns, screened = arrays["columns"].copy(), arrays["screened"].copy()
    _check_columns(problem, columns, screened)
    closed = math.inf if numbers["closed_bound"] is None else float(numbers["closed_bound"])
    shrink = _shrinkage(problem, columns, arrays["means"], arrays["scales"])
    shape = arrays["open_bound"].size, (columns.size + 3) // 4
    waiting = Waiting(*(arrays[f"open_{name}"] for name in Waiting._fields))
    return Tree(
        columns=columns,
        screened=screened,
        waiting=waiting._replace(bits=waiting.bits.reshape(shape), bound=_lowered(waiting.bound, shrink)),
        closed_bound=min(float(_lowered(np.array(closed), shrink)), _screened_away(problem, root, screened)),
        means=problem.design.means[columns],
        scales=problem.design.scales[columns],
        logged=None if numbers["chunks"] is None else TreeSoFar(numbers["chunks"], {}, numbers["logged"]),
    )


def _check_columns(problem: Problem, columns: IndexArray, screened: IndexArray) -> None:
    """No feature is missing in the tree unless the user, the data or the root's dual point have ruled it out."""
    out = problem.excluded.copy()
    out[-1 - screened[screened < 0]] = True
    missing = np.ones(problem.n_features, np.bool_)
    missing[columns] = False
    require(not (missing & (~out | problem.included)).any(), "its tree lacks features that are not ruled out")


def _screened_away(problem: Problem, root: Root, screened: IndexArray) -> float:
    """Nothing that the root's dual point has ruled out has a smaller bound than this: computed anew, not believed."""
    chosen, raised = flipped(root.bound, Fixings.given(problem))
    feature = np.abs(screened) - 1
    proved = np.where(chosen[feature] == (screened > 0), raised[feature], root.bound.value)
    return float(proved.min(initial=math.inf))


def _shrinkage(problem: Problem, columns: IndexArray, means: FloatArray, scales: FloatArray) -> float:
    """The factor by which bounds hold for columns as they are standardised now.

    Sums over a column may come out otherwise in the last digits with another number of threads. A model has the same
    predictor under both scales once its coefficients are divided by their ratio ``r``, and the intercept absorbs other
    means; then the ridge grows by ``r²`` at most, hence no bound need be lowered by more than this factor.
    """
    now = problem.design
    if np.array_equal(means, now.means[columns]) and np.array_equal(scales, now.scales[columns]):
        return 1.0
    require(
        problem.fit_intercept, "its columns were centred with other rounding errors, which matter without intercept"
    )
    ratio = max(float((scales / now.scales[columns]).max(initial=1.0)), 1.0)
    require(ratio <= 1.0 + LARGEST_DRIFT, "its columns were scaled otherwise")
    return (1.0 - 8.0 * UNIT) / (ratio * ratio)


def _lowered(bounds: FloatArray, factor: float) -> FloatArray:
    """Bounds that hold up to this factor; what is negative holds anyway, since no objective is."""
    return bounds if factor == 1.0 else np.where(bounds > 0.0, factor * bounds, bounds)
