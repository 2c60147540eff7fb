"""Lists of good models of hard small problems, and everything that must hold of each.

:func:`hard_list` turns a seed into a problem and a wish, :func:`list_failures` compares what `alternatives` answers
with brute force, and has its proof checked. The test-suite runs a part, ``benchmarks/alternatives_bruteforce.py`` all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from safescreen.status import Status
from safescreen.testing.hard_problems import NOTHING, HardProblem, hard_problem

if TYPE_CHECKING:
    from safescreen.problem import Problem
    from safescreen.testing.reference import BruteForce, Support

ACCURACY = 1e-8
"""How close objectives must be, relative; supports this close to the threshold may be listed or not."""
ROUNDING = 1e-10
"""What fits leave open, relative: a bound may exceed the reference's value by no more."""
CERTAIN = 1e-6
"""With an optimum below this, doubles may not be enough for a proof."""


@dataclass(frozen=True)
class HardList:
    """A generated problem, and which of its models are wished for."""

    hard: HardProblem
    wish: dict[str, Any]

    @property
    def description(self) -> str:
        """One line that tells it apart from others; the seed alone reproduces it."""
        return f"{self.hard.description}, " + ", ".join(f"{name}={value}" for name, value in self.wish.items())


def hard_list(seed: int) -> HardList:
    """Draw a problem and a wish: within a tolerance (none at all up to thrice the best), so many, or both."""
    rng = np.random.default_rng([20260101, seed])
    wish: dict[str, Any] = {}
    asked = rng.choice(["within", "n_best", "both"], p=[0.65, 0.25, 0.1])
    if asked != "n_best":
        wish["within"] = float(rng.choice([0.0, 0.001, 0.01, 0.05, 0.3, 2.0]))
    if asked != "within":
        wish["n_best"] = int(rng.choice([1, 2, 5, 20, 100]))
    return HardList(hard_problem(seed), wish)


def list_failures(case: HardList, **options: Any) -> list[str]:
    """Everything that is wrong with the answer; an empty list when all is well."""
    import safescreen as ss
    from safescreen.testing.reference import brute_force

    data, problem = case.hard.kwargs, case.hard.problem()
    truth = brute_force(problem)
    with TemporaryDirectory() as folder:
        proof = Path(folder) / "proof.npz"
        listed = ss.alternatives(problem, **case.wish, max_models=10**6, proof=proof, **options)
        check = ss.verify(proof, data["X"], data["y"])
    found = contradictions(listed, problem, truth)
    if listed.complete:
        found += _incompleteness(listed, problem, truth, case.wish)
    elif truth.value > CERTAIN:
        found.append(f"not complete, {listed.status}, without any limit set")
    if listed.complete != (listed.status is Status.OPTIMAL):
        found.append(f"complete is {listed.complete}, but the status {listed.status}")
    if not check.valid:
        found.append(f"proof refused: {check.reason}")
    elif check.models != len(listed):
        found.append(f"{check.models} models proved of {len(listed)} listed")
    return [f"{case.description}: {text}" for text in found]


def contradictions(listed: Any, problem: Problem, truth: BruteForce) -> list[str]:
    """What is claimed and not true, whether or not the list is complete."""
    objectives = _listed(listed)
    found = [] if len(objectives) == len(listed) else ["a model is listed twice"]
    for support, objective in objectives.items():
        value = truth.table.get(support)
        if value is None:
            found.append(f"{support} is not admissible")
        elif abs(objective - value) > ACCURACY * value + NOTHING:
            found.append(f"{support} has the objective {value!r}, not {objective!r}")
        elif value > listed.threshold * (1.0 + ACCURACY) + NOTHING:
            found.append(f"{support} with {value!r} is above the threshold {listed.threshold!r}")
    if np.any(np.diff(listed.objectives) < 0.0):
        found.append("the models are not sorted")
    limit = listed.missing_bound * (1.0 - ROUNDING) - NOTHING
    missing = [s for s, value in truth.table.items() if value < limit and not _is_covered(s, objectives, listed)]
    found += [f"{s} with {truth.table[s]!r} is missing below {listed.missing_bound!r}" for s in missing[:3]]
    if not listed.best.objective >= truth.value * (1.0 - ROUNDING) - NOTHING:
        found.append(f"the best, {listed.best.objective!r}, is below the optimum {truth.value!r}")
    if not listed.best.lower_bound <= truth.value * (1.0 + ROUNDING) + NOTHING:
        found.append(f"the lower bound {listed.best.lower_bound!r} is above the optimum {truth.value!r}")
    return found + _decision_failures(listed, problem, truth)


def _incompleteness(listed: Any, problem: Problem, truth: BruteForce, wish: dict[str, Any]) -> list[str]:
    """What a list that claims to be complete lacks."""
    objectives, found = _listed(listed), []
    if abs(listed.best.objective - truth.value) > ACCURACY * truth.value + NOTHING:
        found.append(f"the best, {listed.best.objective!r}, misses the optimum {truth.value!r}")
    lacking = [s for s in good_models(listed, problem, truth) if s not in objectives]
    if "n_best" in wish:
        most = truth.value * (1.0 + wish.get("within", np.inf)) * (1.0 + ACCURACY)
        values = np.sort([value for value in truth.table.values() if value <= most])[: wish["n_best"]]
        mine = np.sort(list(objectives.values()))
        if mine.size > wish["n_best"] or abs(mine.size - values.size) > _near(truth, most):
            found.append(f"{mine.size} models listed of {values.size}")
        shared = min(mine.size, values.size)
        if not np.allclose(mine[:shared], values[:shared], rtol=ACCURACY, atol=NOTHING):
            found.append("the models listed are not the best")
        return found
    expected = truth.value * (1.0 + wish["within"])
    if abs(listed.threshold - expected) > 10.0 * ACCURACY * expected + NOTHING:
        found.append(f"the threshold is {listed.threshold!r}, not {expected!r}")
    found += [f"{s} with {truth.table[s]!r} is not listed below {listed.threshold!r}" for s in lacking[:3]]
    if listed.minimal:
        surely = _below(listed, truth, -ACCURACY)
        spare = [s for s in objectives if any(part in surely for part in _parts(s, problem))]
        found += [f"{s} has a feature to spare" for s in spare[:3]]
        bare = [s for s in surely if not _is_covered(s, objectives, listed)]
        found += [f"{s} contains no listed model" for s in bare[:3]]
    return found


def good_models(listed: Any, problem: Problem, truth: BruteForce) -> list[Support]:
    """What a complete list must have, those apart that numbers can hardly tell from the threshold."""
    surely, perhaps = _below(listed, truth, -ACCURACY), _below(listed, truth, ACCURACY)
    if not listed.minimal:
        return sorted(surely)
    return sorted(s for s in surely if not any(part in perhaps for part in _parts(s, problem)))


def _decision_failures(listed: Any, problem: Problem, truth: BruteForce) -> list[str]:
    """Features said to be in all models, or in none, and a model that knows better."""
    good = [set(s) for s in good_models(listed, problem, truth)]
    if listed.wish.n_best is not None:  # of those at the threshold some are left out
        good = [set(s) for s, value in truth.table.items() if value < listed.threshold * (1.0 - ACCURACY) - NOTHING]
    always, never = set(listed.always.tolist()), set(listed.never.tolist())
    found = [f"{sorted(always - s)} said to be in all models, but not in {sorted(s)}" for s in good if always - s]
    return found + [f"{sorted(never & s)} said to be in none, but in {sorted(s)}" for s in good if never & s]


def _listed(listed: Any) -> dict[Support, float]:
    supports = [tuple(support.tolist()) for support in listed.supports]
    return dict(zip(supports, listed.objectives.tolist(), strict=True))


def _below(listed: Any, truth: BruteForce, tolerance: float) -> set[Support]:
    limit = listed.threshold * (1.0 + tolerance) + (NOTHING if tolerance > 0.0 else -NOTHING)
    return {support for support, value in truth.table.items() if value <= limit}


def _near(truth: BruteForce, limit: float) -> int:
    """How many supports can hardly be told from a limit."""
    return sum(abs(value - limit) <= 10.0 * ACCURACY * limit + NOTHING for value in truth.table.values())


def _parts(support: Support, problem: Problem) -> list[Support]:
    """The support without one of the features that may be left out."""
    return [tuple(j for j in support if j != out) for out in support if not problem.included[out]]


def _is_covered(support: Support, objectives: dict[Support, float], listed: Any) -> bool:
    """Whether a support is listed or, where minimal ones are, contains a listed one."""
    if support in objectives:
        return True
    return bool(listed.minimal) and any(set(part) <= set(support) for part in objectives)
