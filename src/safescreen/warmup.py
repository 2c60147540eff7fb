"""A tiny search that makes the compiled kernels ready, with the argument types every search uses."""

import numpy as np

from safescreen.problem import Problem


def tiny_search() -> None:
    """Search a tree over two features; both kernels are loaded or compiled on the way."""
    from safescreen.bounds import Fixings
    from safescreen.relaxation import solve_root
    from safescreen.workers import make_workers

    X = np.array([[1.0, 0.5], [-1.0, 1.0], [0.5, -1.0], [-0.5, 0.2]])
    problem = Problem(X, np.array([1.0, -1.0, 1.0, -1.0]), mu=1e-3, k=1)
    root = solve_root(problem)
    fixings = Fixings(problem.included, problem.excluded)
    for worker in make_workers(problem, root, fixings, 1.0, np.arange(2), 1):
        worker.explore(1e-3, True, 10, 1000)
