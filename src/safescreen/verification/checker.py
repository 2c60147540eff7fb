"""Check a proof of optimality without trusting the program that wrote it.

Nothing is solved here. The proof must be about the data at hand, and its tree must leave no model out. Then
every dual point ``p`` in it gives a lower bound for all models that agree with the decisions of its node,

    D(p) = Σ w_i H(p_i) + Σ_in (μ - q_j) - Σ_{κ largest free} (q_j - μ)₊
    with  q_j = γ c_j² / 4,  c = Aᵀα,  α_i = w_i y_i p_i,

and that for *any* ``p`` in [0, 1] (with ``Σ α = 0`` if there is an intercept): ``docs/mathematics.md`` has
the proof. So points may be computed carelessly, but not their bounds. These hold in real arithmetic, under
the assumptions that ``arithmetic.py`` names.

The steps are those of ``docs/proof-format.md``, in its order:

1. Read the file (``reading.py``).
2. Recognise the problem: a proof of other data is no proof (``recognition.py``).
3. The upper bound: the objective of the model (here).
4. The lower bound: the least that dual points prove (``dual_bounds.py``) in the regions of a tree that
   leaves no model out (``search_tree.py``), put together here. In a list of models it is about those that are
   missing: the supports on the list, and those that leaves still leave, are looked at in ``listed_models.py``. Of a
   core it is about the models that use too few of its features (``cores.py``). The same bounds, sorted by how much a
   region differs from the model, say what is proved around it (``neighbourhood.py``).
5. The claims of the proof, held against what was found (here).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import IO, Any, NamedTuple

import numpy as np

from safescreen.verification.arithmetic import ROUNDOFF, Array, batches, logistic_loss
from safescreen.verification.completions import bound_completions
from safescreen.verification.cores import CoreBounds, core_bounds
from safescreen.verification.dual_bounds import OUT, bound_nodes, evaluate_points
from safescreen.verification.listed_models import Leaf, ListedModels, read_models, settle_leaf
from safescreen.verification.neighbourhood import bounds_within, exchanged, proved_exchanges
from safescreen.verification.reading import (
    CLAIMS,
    CORE,
    EXTRA_FIELDS,
    LIST_OF_MODELS,
    Arrays,
    Header,
    read_proof,
    require,
)
from safescreen.verification.recognition import (
    Columns,
    StatedProblem,
    Terms,
    is_sparse,
    mask_of,
    matrix_fingerprint,
    recognise_problem,
    require_in_range,
    to_dense,
)
from safescreen.verification.search_tree import Tree, decode, read_tree

CLAIM_TOLERANCE = 1e-9
"""How far a claim may exceed what holds, relative to the objective."""

UNCERTAINTY_LIMIT = 1e-6
"""How much of what rounding leaves uncertain may speak for a claim, relative to the objective."""


@dataclass
class Numbers:
    """What the checker computes itself; nan or 0 until it has come that far."""

    objective: float = math.nan
    lower_bound: float = math.nan
    gap: float = math.nan
    enclosure: tuple[float, float] = (math.nan, math.nan)
    nodes: int = 0
    leaves: int = 0
    points: int = 0
    models: int = 0
    missing_bound: float = math.nan
    avoiding_bound: float = math.nan
    features: int = 0
    proved_exchanges: int = 0
    near_bound: float = math.nan


@dataclass
class Findings:
    """What is known about a proof, be it accepted or refused."""

    claims: dict[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    identified: bool = False
    numbers: Numbers = field(default_factory=Numbers)


def check(
    file: IO[bytes],
    X: Any,
    labels: Array,
    sample_weight: Array | None,
    found: Findings,
    positive_class: Any = None,
    asked: dict[str, Any] | None = None,
) -> None:
    """Take all steps, and refuse the proof at the first that fails; ``found`` is what is known by then.

    ``X`` holds doubles, or sparse columns in canonical form. It is hashed meanwhile, as that takes long; but
    whatever the other steps say, the proof is refused and no number is kept if the proof is about a matrix
    with another fingerprint. Ctrl-C gives the hashing up.

    A proof may state that its matrix was not hashed. No step needs the fingerprint: whoever has the data can
    compute it, so that it never was a reason to believe anything else in the file. It only tells other data
    at once, where the other steps would say what does not fit.
    """
    form_at_hand = "sparse" if is_sparse(X) else "dense"
    given_up = Event()
    pool = ThreadPoolExecutor(1)
    hashing = pool.submit(matrix_fingerprint, X, form_at_hand, given_up.is_set)
    try:
        header, arrays = read_proof(file)
        found.claims = statements(header, arrays)
        numbers, refusal = Numbers(), None
        try:
            check_question(found.claims, asked or {}, X.shape[1])
            problem = recognise_problem(header, arrays, X, labels, sample_weight, positive_class)
            check_upper_bound(problem, header, arrays, numbers)
            if header["version"] == LIST_OF_MODELS:
                check_list_of_models(problem, header, arrays, numbers)
            elif header["version"] == CORE:
                check_core(header, core_bounds(problem, header, arrays), numbers)
            else:
                check_lower_bound(problem, header, arrays, numbers)
        except Exception as error:
            refusal = error
        form = header["matrix_form"]
        found.fingerprint = hashing.result() if form == form_at_hand else matrix_fingerprint(X, form)
        stated = header["fingerprint"].get("matrix", "")
        found.identified = stated is not None
        require(stated in (None, found.fingerprint), "The matrix is not the one of the proof.")
        found.numbers = numbers
        if refusal is not None:
            raise refusal
    finally:
        given_up.set()
        pool.shutdown()


def statements(header: Header, arrays: Arrays) -> dict[str, Any]:
    """The problem and its results as the proof states them; it cannot claim what is not held against it."""
    version = header["version"]
    stated = {name: header["claims"][name] for name in CLAIMS[version]}
    for name in ("software", "mu", "k", "gamma", "fit_intercept", "standardize", "classes"):
        stated[name] = header.get(name)
    for name in ("include", "exclude"):
        stated[name] = arrays[name].tolist()
    stated["weighted"] = bool(np.unique(arrays["weights"]).size > 1)
    stated |= {name: header[name] for name in EXTRA_FIELDS[version]}
    if version == CORE:
        stated["core"] = arrays["core"].tolist()
    return stated


def check_question(stated: dict[str, Any], asked: dict[str, Any], n_features: int) -> None:
    """The proof is about what was asked, as far as the caller says what that is.

    A budget of all features or more is none, whatever the number.
    """
    for name, wanted in asked.items():
        said = stated[name]
        same = min(said, n_features) == min(wanted, n_features) if name == "k" else said == wanted
        require(same, f"The proof answers another question: it is about {name}={said!r}, not {name}={wanted!r}.")


# -- 3. The upper bound: the model's objective -------------------------------------------------------------


def check_upper_bound(problem: StatedProblem, header: Header, arrays: Arrays, numbers: Numbers) -> None:
    """The model is no worse than claimed.

    Whoever made the model, and however, its objective is an upper bound on the optimum.
    """
    objective = model_objective(problem, arrays["support"], arrays["coef"], header["intercept"])
    numbers.objective = objective
    claimed = header["claims"]["objective"]
    as_claimed = objective <= claimed + CLAIM_TOLERANCE * abs(claimed)
    require(as_claimed, f"The objective is {objective!r}, not {claimed!r} as claimed.")


def model_objective(problem: StatedProblem, support: Array, coef: Array, intercept: float) -> float:
    """``Σ w_i log(1 + exp(-y_i (A_i x + b))) + ‖x‖²/γ + μ · #(features in)``, rounded up.

    The loss falls with the margin ``y_i (A_i x + b)``, so a margin lowered by its error covers all rounding
    of the predictor. Of what follows, nothing cancels: 40 units of round-off cover it.
    """
    terms, samples = problem.terms, problem.samples
    n_priced = count_priced(terms, support, coef)
    x = coef * problem.stated_scales[support]
    b, b_error = model_intercept(problem, support, coef, intercept)
    chosen = problem.columns.of(support)
    A = (to_dense(chosen.X) - chosen.means) / chosen.scales
    error = (support.size + 10) * ROUNDOFF * (np.abs(A) @ np.abs(x) + abs(b)) + 2.0 * b_error
    margin = samples.labels * (A @ x + b) - error
    loss = math.fsum(samples.weights * logistic_loss(margin))
    ridge = math.fsum(x / terms.gamma * x)
    objective = loss + ridge + terms.mu * n_priced
    require(math.isfinite(objective), "The objective of the model is not finite.")
    return float(objective * (1.0 + 40.0 * ROUNDOFF) + 1e-300)


def count_priced(terms: Terms, support: Array, coef: Array) -> int:
    """How many features are in: those of the model, which must be admissible, and those included anyway."""
    chosen = mask_of(support, terms.n_features)
    well_formed = support.size == coef.size == np.count_nonzero(chosen)
    require(well_formed, "The support of the model is malformed.")
    unusable = terms.excluded[support] | (terms.constant[support] & (coef != 0.0))
    require(not unusable.any(), "The model uses a feature that is excluded or constant.")
    n_priced = int(np.count_nonzero(chosen | terms.included))
    within = n_priced <= terms.budget
    require(within, f"The model has {n_priced} features, but the budget is {terms.budget}.")
    return n_priced


def model_intercept(problem: StatedProblem, support: Array, coef: Array, intercept: float) -> tuple[float, float]:
    """``b = intercept + Σ means_j coef_j`` and its error; without a fitted intercept it must vanish."""
    shifts = coef * problem.stated_means[support]
    b = math.fsum((intercept, *shifts))
    b_error = 4.0 * ROUNDOFF * (abs(intercept) + math.fsum(np.abs(shifts)))
    if problem.terms.fit_intercept:
        return b, b_error
    require(abs(b) <= b_error, "The model has an intercept, but the problem has none.")
    return 0.0, 0.0


# -- 4. The lower bound ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LowerBound:
    """The least bound over all regions of the proof, how much larger it could be, and what was counted."""

    value: float
    uncertainty: float
    nodes: int = 0
    leaves: int = 1
    points: int = 1
    of_all: float = math.nan
    """Where models are listed: the same of all models, listed ones included."""
    within: Array = field(default_factory=lambda: np.empty(0))
    """The same of models that exchange no more than 0, 1, 2, ... features of the proof's model."""


class Sought(NamedTuple):
    """The models that are listed, and the threshold below which none may be missing."""

    models: ListedModels
    threshold: float


def lower_bound(
    problem: StatedProblem,
    n_chunks: int,
    arrays: Arrays,
    sought: Sought | None = None,
    enough: float = math.inf,
) -> LowerBound:
    """No admissible model is better than this; if models are listed, none that is missing on the list.

    More than ``enough``, such as the objective of some model, need not be proved of any region.
    Every model is in a region that some screening decision of the root cuts off, or it agrees with all of
    them and is in the tree. Without a tree the root's bound is all there is.
    """
    terms = problem.terms
    status = np.stack((terms.included, terms.excluded))
    root_point = evaluate_points(problem, problem.columns, problem.samples.root_dual[None])
    root = bound_nodes(root_point, status[:1], status[1:])
    root_bound, root_uncertainty = float(root.lower[0]), float(root.uncertainty[0])
    model = mask_of(arrays["support"], terms.n_features) | terms.included
    n_model = int(model.sum())
    if n_chunks == 0:
        return LowerBound(root_bound, root_uncertainty, of_all=root_bound, within=np.full(n_model + 1, root_bound))
    screened = decode(arrays["root_screened"])
    require_in_range(screened.feature, terms.n_features)
    tree = read_tree(n_chunks, arrays, terms.n_features)
    only_row = np.zeros(screened.feature.size, np.int64)
    flipped = root.flipped(only_row, screened.feature, screened.side)
    cut_off_bound = np.maximum(root_bound, flipped.min(initial=np.inf))
    tree_status = status.copy()
    tree_status[screened.side, screened.feature] = True
    used = np.flatnonzero(tree.features_used(terms.n_features) | ~tree_status[OUT])
    region = Region(used, problem.columns.of(used), tree.renumbered(used), tree_status[:, used])
    contribution, exchanges, tree_uncertainty = contributions(problem, region, root_bound, model, enough)
    within = np.minimum(bounds_within(exchanges, contribution, n_model), cut_off_bound)
    of_all = np.minimum(cut_off_bound, contribution.min())  # which keeps what is not a number, unlike Python's min
    if sought is not None:
        contribution, in_leaves = settle_leaves(problem, region, contribution, sought)
        of_all = np.minimum(cut_off_bound, in_leaves.min())
    value = np.minimum(cut_off_bound, contribution.min())
    uncertainty = max(root_uncertainty, tree_uncertainty)
    n_leaves, n_points = int(tree.is_leaf.sum()), 1 + int(tree.has_point.sum())
    return LowerBound(float(value), uncertainty, tree.n_nodes, n_leaves, n_points, float(of_all), within)


@dataclass(frozen=True)
class Region:
    """A tree over the features that matter in it: those that are out from the start, and in no point, do not."""

    used: Array
    """These features."""
    columns: Columns
    tree: Tree
    root_status: Array


def contributions(
    problem: StatedProblem, region: Region, inherited: float, model: Array, enough: float = math.inf
) -> tuple[Array, Array, float]:
    """The bounds of all regions of the tree, their exchanges of the model's features, and the uncertainty of bounds.

    There is one entry per node. The regions are the leaves, and what screening decisions cut off elsewhere: below a
    node every model agrees with its screening decisions, or is in a region that one of them cuts off. A leaf is bounded
    as a whole, and a swept node as all that its children leave of it. What is cut off, or left, exchanges no fewer
    features than what is below the node does at least.
    """
    used, columns, tree, root_status = region.used, region.columns, region.tree, region.root_status
    own_bound = np.full(tree.n_nodes, -np.inf)
    cut_off_bound = np.full(tree.n_nodes, np.inf)
    exchanges = np.full(tree.n_nodes, int(model.sum()) - int(model[used].sum()))  # what is not used is out everywhere
    uncertainty = 0.0
    for batch in batches(tree.n_nodes, max(problem.samples.size, used.size)):
        nodes = np.arange(batch.start, batch.stop)
        inside, outside = tree.status(nodes, root_status)
        exchanges[batch] += exchanged(inside, outside, model[used], problem.terms.budget)
        empty = is_empty(inside, outside, problem.terms.budget)
        own_bound[nodes[empty]] = np.inf
        useful = tree.has_point[nodes] & ~empty
        nodes = nodes[useful]
        points = evaluate_points(problem, columns, tree.dual_points(nodes, columns, problem.samples.labels))
        bounds = bound_nodes(points, inside[useful], outside[useful])
        own_bound[nodes] = bounds.lower
        row, entry = tree.screened_parts.of(nodes)
        flipped = bounds.flipped(row, tree.screened.feature[entry], tree.screened.side[entry])
        np.minimum.at(cut_off_bound, nodes[row], flipped)
        uncertainty = max(uncertainty, float(bounds.uncertainty.max(initial=0.0)))
    own_bound[0] = np.maximum(own_bound[0], inherited)
    bound = best_on_the_way_up(own_bound, tree.parent)
    completed, uncertainty_of_completions = bound_completions(problem, columns, tree, root_status, enough)
    cut_off_bound[tree.is_leaf] = -np.inf
    cut_off_bound[tree.swept] = completed
    return np.maximum(bound, cut_off_bound), exchanges, max(uncertainty, uncertainty_of_completions)


def settle_leaves(problem: StatedProblem, region: Region, contribution: Array, sought: Sought) -> tuple[Array, Array]:
    """The contributions once leaves below the threshold have been gone through: of what is missing, and of all models.

    A leaf whose features in have a listed model as a part holds nothing that is missing from a list of minimal models.
    """
    tree, budget = region.tree, problem.terms.budget
    missing, of_all = contribution.copy(), contribution.copy()
    unsettled = np.flatnonzero(tree.is_leaf & ~(contribution >= sought.threshold))
    for batch in batches(unsettled.size, max(problem.samples.size, region.used.size)):
        nodes = unsettled[batch]
        inside, outside = tree.status(nodes, region.root_status)
        dual_points = tree.dual_points(nodes, region.columns, problem.samples.labels)
        points = evaluate_points(problem, region.columns, dual_points)
        alone = bound_nodes(points, inside, ~inside)
        for row, node in enumerate(nodes.tolist()):
            features = region.used[inside[row]]
            if sought.models.minimal and sought.models.part_of(features[None])[0]:
                missing[node] = sought.threshold
            elif tree.has_point[node]:
                free = ~(inside[row] | outside[row])
                places = budget - features.size
                leaf = Leaf(features, region.used[free], points.surplus[row, free], places, float(alone.lower[row]))
                in_leaf, any_in_leaf = settle_leaf(leaf, sought.models, sought.threshold)
                missing[node] = np.maximum(contribution[node], in_leaf)
                of_all[node] = np.maximum(contribution[node], any_in_leaf)
    return missing, of_all


def is_empty(inside: Array, outside: Array, budget: int) -> Array:
    """Whether a node has no model: a feature is both in and out, or more are in than the budget allows."""
    return np.asarray((inside.sum(axis=1) > budget) | (inside & outside).any(axis=1))


def best_on_the_way_up(bound: Array, parent: Array) -> Array:
    """For every node the best bound of itself and its ancestors: what holds for a node holds below it.

    The first round looks at the parent; after that the 3, 7, 15, ... nearest ancestors have been seen.
    """
    ancestor = parent
    for _ in range(bound.size.bit_length()):
        bound = np.maximum(bound, bound[ancestor])
        ancestor = ancestor[ancestor]
    return bound


# -- 5. The claims -----------------------------------------------------------------------------------------


def check_lower_bound(problem: StatedProblem, header: Header, arrays: Arrays, numbers: Numbers) -> None:
    """There is a lower bound, and bound and gap are as good as claimed."""
    proved = lower_bound(problem, header["chunks"], arrays, enough=numbers.objective)
    lower = at_least_trivial(problem.terms, proved)
    numbers.nodes, numbers.leaves, numbers.points = lower.nodes, lower.leaves, lower.points
    objective = numbers.objective
    require(math.isfinite(lower.value) and lower.value <= objective, "The proof gives no lower bound.")
    numbers.lower_bound = lower.value
    numbers.enclosure = (lower.value, lower.value + lower.uncertainty)
    numbers.gap = (objective - lower.value) / abs(objective)
    note_neighbourhood(header["claims"], lower.within, numbers)
    check_claims(header["claims"], numbers, lower.uncertainty)


def note_neighbourhood(claims: dict[str, Any], within: Array, numbers: Numbers) -> None:
    """How many features of the model can be exchanged without finding a better one: by more than the gap asked for.

    No proof claims that, so that there is nothing to hold against it.
    """
    gap = claims["rel_gap"] + 4.0 * CLAIM_TOLERANCE
    numbers.features = within.size - 1
    numbers.proved_exchanges = proved_exchanges(within, numbers.objective * (1.0 - gap))
    if numbers.proved_exchanges:
        numbers.near_bound = float(within[numbers.proved_exchanges])


def check_list_of_models(problem: StatedProblem, header: Header, arrays: Arrays, numbers: Numbers) -> None:
    """Every listed objective is true, and no model below the claimed bound is missing.

    If a complete list is one of minimal models, no feature of them can be left out: what is left would be missing,
    unless another listed model is a part of it.
    """
    claims, objective = header["claims"], numbers.objective
    models, uncertainty = read_models(problem, header, arrays, CLAIM_TOLERANCE)
    lower = lower_bound(problem, header["chunks"], arrays, Sought(models, claims["missing_bound"]))
    best = at_least_trivial(problem.terms, replace(lower, value=lower.of_all))
    lower = at_least_trivial(problem.terms, lower)
    numbers.nodes, numbers.leaves, numbers.points = lower.nodes, lower.leaves, lower.points + len(models.bound)
    numbers.models, numbers.missing_bound = header["listed"], lower.value
    numbers.lower_bound = min(best.value, objective)
    numbers.enclosure = (numbers.lower_bound, numbers.lower_bound + lower.uncertainty)
    numbers.gap = (objective - numbers.lower_bound) / abs(objective)
    size = max(abs(objective), abs(min(claims["missing_bound"], header["threshold"])) if models.bound.size else 0.0)
    shown = lower.value + min(max(uncertainty, lower.uncertainty), UNCERTAINTY_LIMIT * size) + CLAIM_TOLERANCE * size
    as_high = claims["missing_bound"] <= shown
    require(
        as_high,
        f"A model of {lower.value!r} may be missing, though none below {claims['missing_bound']!r} is said to be.",
    )
    complete = claims["missing_bound"] >= header["threshold"]
    require(claims["complete"] == complete, "The list is said to be complete, or not to be, and the opposite holds.")
    if models.minimal and complete:
        require(models.is_antichain(), "A listed model is part of another one.")


def check_core(header: Header, bounds: CoreBounds, numbers: Numbers) -> None:
    """Whoever uses too few features of the core is worse than the best by more than the tolerance.

    The model's objective, rounded up, is at least that of the best one, and the bound is rounded down: no rounding
    speaks for the claim here.
    """
    objective, claims = numbers.objective, header["claims"]
    numbers.leaves, numbers.points = 1, 1
    numbers.lower_bound = min(bounds.of_all, objective)
    numbers.enclosure = (numbers.lower_bound, numbers.lower_bound + bounds.uncertainty)
    numbers.gap = (objective - numbers.lower_bound) / abs(objective)
    numbers.avoiding_bound = bounds.avoiding
    shown = bounds.avoiding + CLAIM_TOLERANCE * abs(objective)
    as_high = claims["lower_bound"] <= shown
    require(as_high, f"The bound is only {bounds.avoiding!r}, not {claims['lower_bound']!r} as claimed.")
    needed = (1.0 + header["within"]) * objective * (1.0 + 8.0 * ROUNDOFF)
    require(
        bounds.avoiding > needed,
        f"A model that uses fewer of the features may have an objective of {bounds.avoiding!r}, which is within the "
        f"tolerance ({needed!r}).",
    )


def at_least_trivial(terms: Terms, lower: LowerBound) -> LowerBound:
    """The bound, or what holds without any: no loss or ridge is negative, and what is included has its price.

    So whatever overflows in a proof costs no more than the bound it was to give.
    """
    trivial = terms.mu * int(terms.included.sum()) * (1.0 - 4.0 * ROUNDOFF)
    lower = replace(lower, within=np.fmax(lower.within, trivial))
    if lower.value > trivial:
        return lower
    highest = max(trivial, lower.value + lower.uncertainty)  # in this order also of what is not a number
    return replace(lower, value=trivial, uncertainty=highest - trivial)


def check_claims(claims: dict[str, Any], numbers: Numbers, uncertainty: float) -> None:
    """A claim must not contradict what the proof shows in exact arithmetic.

    So it is held against the upper end of the enclosure, but only as long as rounding leaves little
    uncertain.
    """
    size = abs(numbers.objective)
    best = numbers.lower_bound + min(uncertainty, UNCERTAINTY_LIMIT * size) + CLAIM_TOLERANCE * size
    as_high = claims["lower_bound"] <= best
    require(as_high, f"The lower bound is only {numbers.lower_bound!r}, not {claims['lower_bound']!r} as claimed.")
    as_small = numbers.objective - best <= (claims["rel_gap"] + 4.0 * CLAIM_TOLERANCE) * size
    not_optimal = claims["status"] != "optimal"
    require(as_small or not_optimal, f"The gap is {numbers.gap!r}, not {claims['rel_gap']!r} as claimed.")
