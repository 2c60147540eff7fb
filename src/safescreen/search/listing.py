"""`list_models`: root, best model, threshold, and the enumeration of all models below it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike

import numpy as np

from safescreen import kernels
from safescreen.expiry import ExpiredError, expiring
from safescreen.incumbents import Incumbent, first_incumbent, improve, polish, polish_in_time, with_users_features
from safescreen.incumbents.refit import Refitter
from safescreen.problem import Problem, check_problem
from safescreen.relaxation import Fixings, Root, solve_root
from safescreen.screening import decide
from safescreen.search.branch_and_bound import Search
from safescreen.search.enumeration import ANY_NUMBER, TIES, Enumeration, Wanted, within_of
from safescreen.search.found import FoundModels
from safescreen.search.interrupts import Interrupts
from safescreen.search.progress import Progress
from safescreen.search.proof_writer import ProvedList
from safescreen.search.settings import Settings
from safescreen.search.solution import Solution
from safescreen.search.solving import open_proof
from safescreen.search.watch import Callback, Watch
from safescreen.status import Status
from safescreen.working_memory import within

BEST_GAP = 1e-8
"""The relative gap to which the best model is found where the threshold depends on it for good."""


@dataclass(frozen=True)
class Wish:
    """Models within a tolerance of the best, the best so many, or both; and how many are too many."""

    within: float | None = None
    n_best: int | None = None
    most: int = 10_000


@dataclass(frozen=True)
class Listed:
    """All models below a threshold, or what was found of them.

    ``missing_bound`` is a safe lower bound on the objective of every model that is not listed and, where minimal models
    are, contains none of them.
    """

    best: Solution
    models: FoundModels  # best first
    threshold: float
    missing_bound: float
    minimal: bool
    status: Status
    decided: Fixings  # what the root's dual point proves about all models below the threshold
    nodes: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.missing_bound >= self.threshold


def list_models(
    problem: Problem,
    wish: Wish,
    settings: Settings,
    proof: str | PathLike[str] | None = None,
    progress: bool = False,
    callback: Callback | None = None,
) -> Listed:
    """List the models that are wished for, and prove that none is missing; or as far as time allows."""
    check_problem(problem)
    kernels.warm_up_listing()
    with Interrupts() as interrupts, Progress(progress) as display, open_proof(proof, problem) as writer:
        watch = Watch(settings, interrupts, display, callback)
        with expiring(watch.expired), within(settings.memory_limit):
            root = solve_root(problem)
            incumbent = _first_model(problem, root, watch)
            best = None
            if _asks_for_minimal(problem, wish):  # what contains a listed model is not looked at, the best may be there
                search = Search(problem, root, incumbent, watch)
                best = search.solution(search.run())
                incumbent = search.incumbent
            enumeration = Enumeration(problem, root, watch, _wanted(problem, wish, incumbent), writer)
            status = enumeration.run()
            listed = _listed(enumeration, best or _best(enumeration, incumbent, status), status)
            if writer is not None:
                writer.finish_list(_proved(listed, enumeration), root.bound, enumeration.screened)
    return listed


def _proved(listed: Listed, enumeration: Enumeration) -> ProvedList:
    """What the tree of the enumeration proves; that of a search for the best model is not in the file."""
    others = FoundModels.joined([enumeration.found, *enumeration.spare, *enumeration.refuted])
    missing = min(enumeration.lower_bound, listed.missing_bound)
    return ProvedList(listed.best, listed.models, others, listed.minimal, listed.threshold, missing)


def list_below(problem: Problem, threshold: float, settings: Settings) -> tuple[FoundModels, bool]:
    """All models whose objective is at most this, as far as time allows, and whether they are all."""
    kernels.warm_up_listing()
    watch = Watch(settings)
    with expiring(watch.expired), within(settings.memory_limit):
        enumeration = Enumeration(problem, solve_root(problem), watch, Wanted(threshold, most=ANY_NUMBER))
        enumeration.run()
    return enumeration.found, enumeration.is_complete


def _first_model(problem: Problem, root: Root, watch: Watch) -> Incumbent:
    """A good model, as for screening: the threshold rests on it."""
    incumbent = improve(problem, first_incumbent(problem, root, watch.expired), root, watch.expired)
    try:
        return with_users_features(problem, incumbent)
    except ExpiredError:
        return incumbent


def _asks_for_minimal(problem: Problem, wish: Wish) -> bool:
    """Whether only models with no feature to spare are of interest: more features cost nothing."""
    return problem.mu == 0.0 and wish.n_best is None


def _wanted(problem: Problem, wish: Wish, model: Incumbent) -> Wanted:
    """The models to list, given a good one: the best, where minimal ones are asked for."""
    threshold = math.inf if wish.within is None else within_of(model.objective, wish.within)
    if wish.n_best is not None:
        threshold = min(threshold, _reached_by(problem, model, wish.n_best))
    return Wanted(threshold, _asks_for_minimal(problem, wish), wish.within, wish.n_best, wish.most)


def _reached_by(problem: Problem, model: Incumbent, n_best: int) -> float:
    """An objective that at least so many models reach, if there are so many at all.

    Whatever is added to a model does no harm but for its price. So a part of the model, fitted alone, bounds all the
    supports that contain it.
    """
    usable = int(np.count_nonzero(~problem.excluded))
    kept = model.support
    while True:
        places, others = min(problem.k, usable) - kept.size, usable - kept.size
        supports, added = 1, 0
        while supports < n_best and added < places:
            added += 1
            supports += math.comb(others, added)
        droppable = np.flatnonzero(~problem.included[kept])
        if supports >= n_best:
            part = polish(problem, kept, model.x, model.b)
            return (part.objective + added * problem.mu) * (1.0 + TIES)
        if not droppable.size:
            return math.inf
        refitter = Refitter(problem, kept)
        refitter.fit(np.arange(kept.size), model.x[kept])
        costs = refitter.drop_costs(np.arange(kept.size))[droppable]
        kept = np.delete(kept, droppable[int(np.argmin(costs))])


def _best(enumeration: Enumeration, incumbent: Incumbent, status: Status) -> Solution:
    """The best model listed, or known before, with what the enumeration proves about it."""
    problem, found = enumeration.problem, enumeration.found
    if len(found):
        features, values, intercept = next(iter(found.chosen([int(np.argmin(found.objective))])))
        x = np.zeros(problem.n_features)
        x[features] = values
        listed = polish_in_time(problem, features, x, intercept) or incumbent
        incumbent = min(incumbent, listed, key=lambda model: model.objective)
    return Solution(
        coef=incumbent.coef,
        intercept=incumbent.intercept,
        support=incumbent.support,
        objective=incumbent.objective,
        lower_bound=min(incumbent.objective, enumeration.best_bound),
        status=status,
        nodes=enumeration.nodes,
        seconds=enumeration.watch.seconds,
        trace=[],
        problem=problem,
        root=enumeration.root.bound,
    )


def _listed(enumeration: Enumeration, best: Solution, status: Status) -> Listed:
    """What an enumeration has come to."""
    wanted, threshold, found = enumeration.wanted, enumeration.threshold, enumeration.found.best_first()
    missing = enumeration.lower_bound
    if wanted.minimal:  # the search for the best one has proved something, too
        missing = max(missing, best.lower_bound)
    most = min(wanted.most if wanted.n_best is None else wanted.n_best, len(found))
    models, dropped = found.chosen(np.arange(most)), found.chosen(np.arange(most, len(found)))
    if wanted.n_best is None:
        missing = float(dropped.bound.min(initial=missing))
    return Listed(
        best=best,
        models=models,
        threshold=threshold,
        missing_bound=min(missing, threshold),
        minimal=wanted.minimal,
        status=status,
        decided=decide(enumeration.root.bound, Fixings.given(enumeration.problem), threshold),
        nodes=enumeration.nodes + (best.nodes if wanted.minimal else 0),
        seconds=enumeration.watch.seconds,
    )
