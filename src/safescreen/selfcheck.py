"""Hard small problems, and everything that must hold on each of them.

:func:`hard_problem` turns a seed into a problem with few features and many troubles; :func:`failures` solves
it in every screening mode and compares with brute force. The test-suite runs a part,
``benchmarks/bruteforce.py`` all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safescreen.status import Status

if TYPE_CHECKING:
    from safescreen.problem import Problem
    from safescreen.reference import BruteForce

Array = NDArray[Any]

SCREENING_MODES = ("none", "root", "nodes")
REL_GAP = 1e-9
ACCURACY = 1e-8
"""How close to the optimum an objective must be, relative."""
ROUNDING = 1e-13
"""What the reference's own rounding may amount to, relative."""
TIE = 1e-14
"""Supports this close, relative, are both optimal: duplicated columns differ in the last digit only."""
NOTHING = 1e-15
"""Below this no objective of doubles means anything: separable data can drive the optimum towards zero."""


@dataclass(frozen=True)
class HardProblem:
    """A generated problem: the arguments of `Problem`, and words that describe it."""

    seed: int
    kwargs: dict[str, Any]
    kind: str
    traits: tuple[str, ...]

    @property
    def description(self) -> str:
        """One line that tells the problem apart from others; the seed alone reproduces it."""
        m, n = self.kwargs["X"].shape
        return f"seed {self.seed}: {self.kind}, m={m}, n={n}, " + ", ".join(self.traits)

    def problem(self) -> Problem:
        """The problem itself."""
        from safescreen.problem import Problem

        return Problem(**self.kwargs)


# -- generation ------------------------------------------------------------------------------------------


def hard_problem(seed: int) -> HardProblem:
    """Draw a problem with at most ten features and a random choice of troubles.

    Price, budget or both; weights (some zero), intercept, standardisation, features decided beforehand; weak
    and strong ridge; dense, sparse and single-precision storage; separable labels; duplicated, mirrored,
    constant and badly scaled columns.
    """
    rng = np.random.default_rng([20220201, seed])
    n = int(rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], p=[0.04, 0.04, *[0.1] * 4, *[0.13] * 4]))
    m = int(rng.integers(4, 61))
    X, traits = _matrix(rng, m, n)
    y, label_trait = _labels(rng, X)
    X, column_traits = _trouble(rng, X)
    stored, storage = _stored(rng, X)
    kind, terms = _terms(rng, n)
    options, option_traits = _options(rng, y, n, terms.get("k", n))
    kwargs = {"X": stored, "y": y, **terms, **options}
    gamma = f"gamma={terms['gamma']:.3g}"
    return HardProblem(seed, kwargs, kind, (traits, label_trait, *column_traits, storage, gamma, *option_traits))


def _matrix(rng: np.random.Generator, m: int, n: int) -> tuple[Array, str]:
    """Independent, correlated, integer (full of ties) or mostly zero entries."""
    trait = str(rng.choice(["gaussian", "correlated", "integer", "thin"]))
    X = rng.standard_normal((m, n))
    if trait == "correlated":
        X = 0.5 * X + rng.standard_normal((m, 1))
    elif trait == "integer":
        X = rng.integers(-1, 2, size=(m, n)).astype(float)
    elif trait == "thin":
        X *= rng.random((m, n)) < 0.3
    return X, trait


def _labels(rng: np.random.Generator, X: Array) -> tuple[Array, str]:
    """Labels from noise, from a model, or separable by a few columns; both classes always occur."""
    trait = str(rng.choice(["noise", "model", "separable"], p=[0.25, 0.45, 0.3]))
    m, n = X.shape
    score: Array = X @ (rng.standard_normal(n) * (rng.random(n) < 0.5))
    if trait == "noise":
        score = rng.standard_normal(size=(m,))
    elif trait == "model":
        score = score + rng.logistic(size=(m,))
    y = np.where(score > np.median(score), 1, -1)
    if abs(y.sum()) == m:
        y[0] = -y[0]
    return y, trait


def _trouble(rng: np.random.Generator, X: Array) -> tuple[Array, list[str]]:
    """Spoil some columns; duplicates come last, so that they are exact and their supports tie."""
    X, traits, n = X.copy(), [], X.shape[1]
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-6.0, 6.0, n)
        traits.append("scaled")
    if rng.random() < 0.2:
        X += X.std(axis=0) * rng.uniform(-10.0, 10.0, n)
        traits.append("shifted")
    if rng.random() < 0.2:
        X[:, rng.integers(n)] = rng.choice([0.0, 1.0, 0.1, -1e5])
        traits.append("constant")
    if n > 1 and rng.random() < 0.35:
        target, source = rng.choice(n, 2, replace=False)
        X[:, target] = X[:, source] * rng.choice([1.0, -1.0, 2.0], p=[0.5, 0.4, 0.1])
        traits.append("duplicated")
    return X, traits


def _stored(rng: np.random.Generator, X: Array) -> tuple[Any, str]:
    """One of the forms in which users hold a matrix."""
    trait = str(rng.choice(["C", "F", "float32", "csr", "csc", "coo"]))
    if trait == "float32":
        return X.astype(np.float32), trait
    if trait in ("csr", "csc", "coo"):
        return sparse.coo_array(X).asformat(trait), trait
    return np.array(X, order=trait), f"order {trait}"  # type: ignore[call-overload]


def _terms(rng: np.random.Generator, n: int) -> tuple[str, dict[str, Any]]:
    """Price, budget or both, and the ridge."""
    kind = str(rng.choice(["price", "budget", "both"]))
    terms: dict[str, Any] = {"gamma": float(10.0 ** rng.uniform(-2.0, 4.0))}
    if kind != "budget":
        terms["mu"] = float(10.0 ** rng.uniform(-5.0, -0.5))
    if kind != "price":
        terms["k"] = int(rng.integers(1, n + 1))
    return kind, terms


def _options(rng: np.random.Generator, y: Array, n: int, budget: int) -> tuple[dict[str, Any], list[str]]:
    """Weights, intercept, standardisation, and features decided beforehand."""
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        options["sample_weight"] = _weights(rng, y)
    options["fit_intercept"] = rng.random() < 0.5
    options["standardize"] = rng.random() < 0.4
    order = rng.permutation(n)
    included = int(rng.integers(1, 3)) if rng.random() < 0.25 else 0
    excluded = int(rng.integers(1, 4)) if rng.random() < 0.25 else 0
    included = min(included, budget, n)
    if included:
        options["include"] = np.sort(order[:included]).tolist()
    if excluded and n > included:
        options["exclude"] = np.sort(order[included : included + excluded]).tolist()
    return options, [f"{key}={value}" if key != "sample_weight" else key for key, value in options.items()]


def _weights(rng: np.random.Generator, y: Array) -> Array:
    """Random weights, a third of them zero in one of two cases, but both classes keep some weight."""
    weights = rng.exponential(size=y.size)
    if rng.random() < 0.5:
        weights[rng.random(y.size) < 0.3] = 0.0
    for label in (-1, 1):
        members = np.flatnonzero(y == label)
        weights[members[0]] += 0.1
    return weights


# -- verdict ---------------------------------------------------------------------------------------------


def failures(hard: HardProblem, modes: tuple[str, ...] = SCREENING_MODES) -> list[str]:
    """Everything that is wrong with the solver's answers on one problem; an empty list when all is well."""
    from safescreen.reference import brute_force

    problem = hard.problem()
    truth = brute_force(problem)
    found = _root_failures(problem, truth)
    for mode in modes:
        found += [f"solve({mode!r}): {text}" for text in _solve_failures(problem, hard.kwargs, truth, mode)]
    return [f"{hard.description}: {text}" for text in found]


def _root_failures(problem: Problem, truth: BruteForce) -> list[str]:
    """What `relax` and `screen` claim before any branching."""
    import safescreen as ss

    found = []
    relaxation = ss.relax(problem)
    if _above(relaxation.lower_bound, truth.value):
        found.append(f"relax: lower bound {relaxation.lower_bound!r} above the optimum {truth.value!r}")
    screening = ss.screen(problem)
    if _above(screening.lower_bound, truth.value):
        found.append(f"screen: lower bound {screening.lower_bound!r} above the optimum {truth.value!r}")
    if _above(truth.value, screening.upper_bound):
        found.append(f"screen: upper bound {screening.upper_bound!r} below the optimum {truth.value!r}")
    return found + [f"screen: {text}" for text in contradictions(screening, problem, truth)]


def _solve_failures(problem: Problem, data: dict[str, Any], truth: BruteForce, mode: str) -> list[str]:
    """What `solve` claims in one screening mode, and whether its proof holds."""
    import safescreen as ss

    with TemporaryDirectory() as folder:
        proof = Path(folder) / "proof.npz"
        solution = ss.solve(problem, rel_gap=REL_GAP, screening=mode, proof=proof)
        found = _proof_failures(proof, data, solution, truth)
    if solution.objective - truth.value > ACCURACY * abs(truth.value) + NOTHING:
        found.append(f"objective {solution.objective!r} misses the optimum {truth.value!r}")
    if _above(truth.value, solution.objective):
        found.append(f"objective {solution.objective!r} below the optimum {truth.value!r}")
    if _above(solution.lower_bound, truth.value):
        found.append(f"lower bound {solution.lower_bound!r} above the optimum {truth.value!r}")
    if solution.status == Status.OPTIMAL and not solution.gap <= REL_GAP:
        found.append(f"status optimal at a gap of {solution.gap!r}")
    if solution.status != Status.OPTIMAL and truth.value > 1e-6:
        found.append(f"status {solution.status!r} at a gap of {solution.gap!r}, without any limit set")
    found += _model_failures(problem, solution)
    return found + contradictions(solution.screening, problem, truth)


def _proof_failures(proof: Path, data: dict[str, Any], solution: Any, truth: BruteForce) -> list[str]:
    """Whether the independent checker accepts the proof, and agrees with truth and solver."""
    import safescreen as ss

    check = ss.verify(proof, data["X"], data["y"])
    if not check.valid:
        return [f"proof refused: {check.reason}"]
    found = []
    if _above(check.lower_bound, truth.value):
        found.append(f"certified lower bound {check.lower_bound!r} above the optimum {truth.value!r}")
    if _above(truth.value, check.objective):
        found.append(f"certified objective {check.objective!r} below the optimum {truth.value!r}")
    if not solution.lower_bound <= check.enclosure[1]:
        found.append(f"lower bound {solution.lower_bound!r} above the checker's enclosure {check.enclosure}")
    return found


def _model_failures(problem: Problem, solution: Any) -> list[str]:
    """Whether the returned model is admissible and has the objective it is said to have."""
    found = []
    chosen = {int(j) for j in np.flatnonzero(solution.coef)}
    support = {int(j) for j in solution.support}
    if not chosen <= support | {int(j) for j in problem.include}:
        found.append(f"non-zero coefficients {sorted(chosen)} outside the support {sorted(support)}")
    if len(chosen.union(int(j) for j in problem.include)) > problem.k:
        found.append(f"{len(chosen)} features chosen on a budget of {problem.k}")
    if chosen.intersection(int(j) for j in problem.exclude):
        found.append("an excluded feature was chosen")
    evaluated = problem.objective(solution.coef, solution.intercept)
    if not math.isclose(evaluated, solution.objective, rel_tol=1e-12, abs_tol=NOTHING):
        found.append(f"objective {solution.objective!r} is not that of the model, {evaluated!r}")
    return found


def contradictions(screening: Any, problem: Problem, truth: BruteForce) -> list[str]:
    """Screening decisions that some optimal support refutes.

    A support that stays optimal without a feature does not need it, so only needed features refute an
    exclusion.
    """
    if screening is None:
        return []
    optimal = truth.ties(TIE)
    settled = {int(j) for j in problem.include}
    everyone = set(optimal)
    needed = {
        j for support in optimal for j in support if tuple(i for i in support if i != j) not in everyone
    } - settled
    absent = {j for support in optimal for j in range(problem.n_features) if j not in support}
    wrong_out = sorted(needed.intersection(int(j) for j in screening.excluded))
    wrong_in = sorted(absent.intersection(int(j) for j in screening.included))
    found = [f"feature {j} screened out, but in an optimal support" for j in wrong_out]
    return found + [f"feature {j} screened in, but absent from an optimal support" for j in wrong_in]


def _above(lower: float, upper: float) -> bool:
    """Whether what must be the smaller of two values is the larger one, beyond the reference's rounding."""
    return not lower <= upper + ROUNDING * abs(upper)
