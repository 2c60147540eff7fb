"""What searches of hard small problems say of the models near the best one, held against brute force.

:func:`stopped_search` turns a seed into a problem and a search that ends early, :func:`neighbourhood_failures` looks at
every model that is covered by its statement, by that of its proof, of a search that goes on from its checkpoint, and of
one that writes no proof.
The test-suite runs a part, ``benchmarks/exchanges_bruteforce.py`` all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from safescreen.status import Status
from safescreen.testing.hard_problems import HardProblem, hard_problem

if TYPE_CHECKING:
    from safescreen.testing.reference import BruteForce

ROUNDING = 1e-10
"""What the reference's own fits leave open, relative."""
AGREEMENT = 1e-8
"""How far a checker may let a bound fall short of the gap that a proof is about, relative to the objective."""
NOTHING = 1e-13
"""And without regard to its size: optima of separable data are nearly 0."""


@dataclass(frozen=True)
class StoppedSearch:
    """A generated problem, and a search for its best model that ends early, as a rule."""

    hard: HardProblem
    settings: dict[str, Any]
    stops: tuple[float, float]
    """When it ends, and when a second run does that goes on: shares of the nodes that an undisturbed search has."""

    @property
    def description(self) -> str:
        """One line that tells it apart from others; the seed alone reproduces it."""
        return f"{self.hard.description}, {self.settings}, stopped at {self.stops}"


def stopped_search(seed: int) -> StoppedSearch:
    """Draw a problem, settings and stops: two of three problems have a weak ridge, and trees that are worth a stop."""
    rng = np.random.default_rng([20260801, seed])
    settings = {
        "screening": str(rng.choice(["nodes", "root", "none"], p=[0.5, 0.2, 0.3])),
        "n_threads": int(rng.choice([1, 3], p=[0.7, 0.3])),
        "rel_gap": float(rng.choice([0.0, 1e-9, 1e-4, 1e-2], p=[0.1, 0.3, 0.4, 0.2])),
    }
    stops = float(rng.choice([rng.random(), 1.0 - 0.3 * rng.random()])), float(rng.choice([0.3 * rng.random(), 2.0]))
    hard = hard_problem(seed) if seed % 3 == 0 else _weakly_penalised(rng, seed)
    return StoppedSearch(hard, settings, stops)


def _weakly_penalised(rng: np.random.Generator, seed: int) -> HardProblem:
    """A problem in which all features matter a little, so that many models are nearly as good."""
    n, m = int(rng.integers(8, 12)), int(rng.integers(15, 60))
    X = rng.standard_normal((m, n)) + rng.choice([0.0, 0.7, 1.5]) * rng.standard_normal((m, 1))
    traits = []
    if rng.random() < 0.3:
        X[:, -2:] = X[:, :2]
        traits.append("duplicated")
    if rng.random() < 0.2:
        X *= 10.0 ** rng.uniform(-3.0, 3.0, n)
        traits.append("scales")
    y = np.where(X @ rng.standard_normal(n) + rng.choice([0.5, 2.0]) * rng.standard_normal(m) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    kind = str(rng.choice(["budget", "price", "both"], p=[0.6, 0.2, 0.2]))
    kwargs: dict[str, Any] = {"X": X, "y": y, "gamma": float(rng.choice([30.0, 100.0, 1e3, 1e4]))}
    if kind != "price":
        kwargs["k"] = int(rng.integers(3, 6))
    if kind != "budget":
        kwargs["mu"] = float(10.0 ** rng.uniform(-4.0, -2.0))
    kwargs["fit_intercept"] = bool(rng.random() < 0.7)
    if rng.random() < 0.3:
        decided = rng.permutation(n)
        kwargs |= {"include": decided[:1], "exclude": decided[1 : rng.integers(1, 3)]}
        traits.append("decided")
    if rng.random() < 0.3:
        kwargs["sample_weight"] = rng.random(m) + 0.1
        traits.append("weighted")
    return HardProblem(seed, kwargs, kind, ("weak ridge", *traits))


def neighbourhood_failures(case: StoppedSearch) -> tuple[str, list[str]]:
    """Whether "all", "part" or "nothing" was covered at a stop, and everything that is wrong."""
    import safescreen as ss
    from safescreen.testing.reference import brute_force

    data, problem = case.hard.kwargs, case.hard.problem()
    truth = brute_force(problem)
    nodes = ss.solve(problem, **case.settings).nodes
    early = ss.solve(problem, **case.settings, node_limit=int(case.stops[0] * nodes))
    found, covered = _solution_failures(early, truth), "nothing"
    with TemporaryDirectory() as folder:
        proof, checkpoint = Path(folder) / "proof.npz", Path(folder) / "run.npz"
        for resume, stop in zip((False, True), case.stops, strict=True):
            settings = {**case.settings, "node_limit": int(stop * nodes)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                solution = ss.solve(problem, proof=proof, checkpoint=checkpoint, resume=resume, **settings)
            checked = ss.verify(proof, data["X"], data["y"])
            found += _solution_failures(solution, truth) + _proof_failures(checked, solution, truth)
            if solution.neighbourhood:
                covered = "part"
            elif not resume and solution.proved_exchanges:
                covered = "all"
    return covered, [f"{case.description}: {text}" for text in found]


def _solution_failures(solution: Any, truth: BruteForce) -> list[str]:
    """Models that refute what a search says."""
    exchanges = solution.proved_exchanges
    found = []
    if solution.status == Status.OPTIMAL and exchanges != solution.support.size:
        found.append(f"optimal, but only {exchanges} of {solution.support.size} exchanges are covered")
    if exchanges:
        needed = solution.objective * (1.0 - solution.rel_gap)
        found += _refuting(truth, set(solution.support.tolist()), exchanges, needed)
    return found


def _proof_failures(checked: Any, solution: Any, truth: BruteForce) -> list[str]:
    """Models that refute what the checker says, and whether it says no less than the search."""
    if not checked.valid:
        return [f"refused: {checked.reason}"]
    found = []
    model = set(solution.support.tolist()) | set(solution.problem.include.tolist())
    if checked.features != len(model):
        found.append(f"the proof has a model of {checked.features} features, not {len(model)}")
    if checked.proved_exchanges:
        found += _refuting(truth, model, checked.proved_exchanges, checked.near_bound)
        short = solution.objective * (1.0 - solution.rel_gap - AGREEMENT) - NOTHING - checked.near_bound
        if short > 0.0:
            found.append(f"{checked.near_bound!r} is too low for {checked.proved_exchanges} exchanges")
    if checked.claims["status"] == solution.status and checked.proved_exchanges < solution.proved_exchanges:
        found.append(f"{solution.proved_exchanges} exchanges, of which a checker sees {checked.proved_exchanges}")
    return found


def _refuting(truth: BruteForce, model: set[int], exchanges: int, needed: float) -> list[str]:
    """Supports that exchange no more features of the model, and are better than it is said they can be."""
    near = {support: value for support, value in truth.table.items() if len(model.difference(support)) <= exchanges}
    return [
        f"{support} has {value!r}, below {needed!r}, and exchanges at most {exchanges} of {sorted(model)}"
        for support, value in near.items()
        if value < needed - ROUNDING * abs(needed) - NOTHING
    ]
