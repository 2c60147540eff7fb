"""Cores of hard small problems, and everything that must hold of each.

:func:`hard_core` turns a seed into a problem and a question, :func:`core_failures` compares what `core` answers with
brute force, and has its proof checked. The test-suite runs a part, ``benchmarks/cores_bruteforce.py`` all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from safescreen.testing.hard_problems import NOTHING, HardProblem, hard_problem

if TYPE_CHECKING:
    from safescreen.problem import Problem
    from safescreen.testing.reference import BruteForce

ROUNDING = 1e-10
"""What fits leave open, relative: a bound may exceed the reference's value by no more."""
SOLVED = 1e-5
"""Relative distance at which a relaxation counts as solved."""
CERTAIN = 1e-6
"""With an optimum below this, doubles may not be enough for a proof."""


@dataclass(frozen=True)
class HardCore:
    """A generated problem, and the core that is asked for."""

    hard: HardProblem
    question: dict[str, Any]

    @property
    def description(self) -> str:
        """One line that tells it apart from others; the seed alone reproduces it."""
        return f"{self.hard.description}, " + ", ".join(f"{name}={value}" for name, value in self.question.items())


def hard_core(seed: int) -> HardCore:
    """Draw a problem, a tolerance and how many features are to be used at least."""
    rng = np.random.default_rng([20260202, seed])
    question = {
        "within": float(rng.choice([0.0, 0.001, 0.01, 0.05, 0.3])),
        "at_least": int(rng.choice([1, 2, 3], p=[0.5, 0.4, 0.1])),
    }
    return HardCore(hard_problem(seed), question)


def core_failures(case: HardCore) -> tuple[str, list[str]]:
    """What became of the question ("proved" or "none"), and everything that is wrong with it."""
    import safescreen as ss
    from safescreen.testing.reference import brute_force

    data, problem = case.hard.kwargs, case.hard.problem()
    truth = brute_force(problem)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ProofNotWrittenWarning)  # of badly scaled data
        proof = Path(folder) / "proof.npz"
        try:
            core = ss.core(problem, **case.question, proof=proof)
        except ValueError:
            return "none", [f"{case.description}: {text}" for text in _denial_failures(problem, truth, case.question)]
        check = ss.verify(proof, data["X"], data["y"]) if proof.exists() else None
    found = contradictions(core, problem, truth) + _spare_features(core, problem)
    if check is None and truth.value > CERTAIN:
        found.append("no proof was written")
    if check is not None and not check.valid:
        found.append(f"proof refused: {check.reason}")
    return "proved", [f"{case.description}: {text}" for text in found]


def contradictions(core: Any, problem: Problem, truth: BruteForce) -> list[str]:
    """What is claimed and not true."""
    members, found = set(core.features.tolist()), []
    if problem.included[core.features].any() or problem.excluded[core.features].any():
        found.append("a feature is decided beforehand")
    if not core.objective >= truth.value * (1.0 - ROUNDING) - NOTHING:
        found.append(f"the objective {core.objective!r} is below the optimum {truth.value!r}")
    for support, value in truth.table.items():
        few = len(members & set(support)) < core.at_least
        if few and value < core.lower_bound * (1.0 - ROUNDING) - NOTHING:
            found.append(f"{support} with {value!r} uses too few features below {core.lower_bound!r}")
        if few and value <= truth.value * (1.0 + core.within) * (1.0 - ROUNDING) - NOTHING:
            found.append(f"{support} with {value!r} is within the tolerance of {truth.value!r}")
    return found[:3]


def _spare_features(core: Any, problem: Problem) -> list[str]:
    """Features that could be left out, by the ordinary relaxation of what is left; it knows of cores of one only."""
    import safescreen as ss

    if core.at_least > 1:
        return []
    spare = []
    for j in core.features.tolist():
        avoided = problem.with_decisions(exclude=[i for i in core.features.tolist() if i != j])
        if ss.relax(avoided).lower_bound > core.threshold * (1.0 + SOLVED):
            spare.append(f"feature {j} is not needed")
    return spare


def _denial_failures(problem: Problem, truth: BruteForce, question: dict[str, Any]) -> list[str]:
    """A core that should have been found: of one feature at least, where the model without any is far too bad.

    A local search may have missed the best model, so that the question is asked again with its objective.
    """
    import safescreen as ss

    value = truth.table[tuple(problem.include.tolist())]
    if question["at_least"] == 1 and value > truth.value * (1.0 + question["within"]) * 1.01 + NOTHING:
        try:
            ss.core(problem, **question, upper_bound=truth.value * (1.0 + 1e-7))
        except ValueError:
            return [f"no core, though doing without features costs {value!r}, and the best {truth.value!r}"]
    return []
