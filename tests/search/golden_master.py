"""Twenty single-threaded solves whose nodes, objective and bound must not move when only the code's shape does.

A search on one thread counts operations, not seconds, so it is the same every time on one kind of processor.
``python tests/search/golden_master.py`` writes the answers of the installed version to
``tests/data/golden_master.json``; do that only where a change is meant to alter the search, and say so in the commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import safescreen as ss

RECORD = Path(__file__).parents[1] / "data" / "golden_master.json"


def cases() -> Iterator[tuple[str, ss.Problem, dict[str, Any]]]:
    """Name, problem and arguments of `solve`."""
    plain = {"fit_intercept": False, "standardize": False}
    usual = {"fit_intercept": True, "standardize": True}
    for m, mu, gamma in ((200, 5e-4, 1.8), (500, 5e-4, 1.5), (1000, 1e-3, 1.8)):
        X, y, _ = ss.datasets.make_sparse_logistic(m, 500, 50, 1000.0, random_state=0)
        yield f"price m={m} gamma={gamma}", ss.Problem(X, y, mu=mu, gamma=gamma, **plain), {"rel_gap": 1e-6}
    for n, m, gamma in ((200, 200, 1.8), (1000, 200, 1.5), (1000, 500, 1.8)):
        X, y, _ = ss.datasets.make_sparse_logistic(m, n, 50, 1000.0, random_state=0)
        yield f"budget n={n} m={m} gamma={gamma}", ss.Problem(X, y, k=50, gamma=gamma, **plain), {}
    X, y, _ = ss.datasets.make_sparse_logistic(150, 60, 8, 2.0, rho=0.6, random_state=1)
    yield "correlated, weak ridge", ss.Problem(X, y, k=6, gamma=300.0, **usual), {}
    yield "correlated, price and budget", ss.Problem(X, y, k=6, mu=1e-3, gamma=100.0, **usual), {}
    yield "no screening", ss.Problem(X, y, k=4, gamma=5.0, **usual), {"screening": "none"}
    yield "root screening", ss.Problem(X, y, k=4, gamma=5.0, **usual), {"screening": "root"}
    yield "decided by the user", ss.Problem(X, y, k=5, gamma=50.0, include=(3, 50), exclude=(0, 1), **usual), {}
    weights = np.random.default_rng(2).random(150) + 0.1
    yield "weights", ss.Problem(X, y, k=5, gamma=80.0, sample_weight=weights, **usual), {}
    yield "no intercept, standardised", ss.Problem(X, y, k=5, gamma=80.0, fit_intercept=False, standardize=True), {}
    yield (
        "intercept, as it is",
        ss.Problem(3.0 * X + 1.0, y, k=5, gamma=20.0, fit_intercept=True, standardize=False),
        {},
    )
    yield "float32", ss.Problem(X.astype(np.float32), y, k=5, gamma=40.0, **usual), {}
    yield "gamma 1e4", ss.Problem(X[:, :20], y, k=3, gamma=1e4, **usual), {}
    X, y, names = ss.datasets.load_breast_cancer_interactions()
    yield "interactions", ss.Problem(X, y, k=5, gamma=100.0, feature_names=names, **usual), {}
    yield "stopped early", ss.Problem(X, y, k=10, gamma=1000.0, **usual), {"node_limit": 2000}
    rng = np.random.default_rng(4)
    text = sparse.random(400, 3000, density=0.02, format="csr", random_state=4, data_rvs=rng.random)
    signal = np.asarray(text[:, :12].sum(axis=1)).ravel()
    y = np.where(signal + 0.05 * rng.standard_normal(400) > np.median(signal), 1, -1)
    yield "sparse, standardised", ss.Problem(text, y, k=8, gamma=3.0, **usual), {}
    text = sparse.random(1000, 12_000, density=0.01, format="csr", random_state=5, data_rvs=rng.random)
    y = np.where(np.asarray(text[:, :40].sum(axis=1)).ravel() > 0.15, 1, -1)
    unscreened = {"screening": "none", "node_limit": 100}  # too many columns to hold them all dense
    yield "sparse, wide", ss.Problem(text, y, k=6, gamma=300.0, **usual), unscreened


def answers() -> dict[str, dict[str, Any]]:
    """What the solver says now; floats as hexadecimal, so that nothing is rounded.

    Data are made and problems solved on one thread of the linear algebra: sums of several differ in the last bits.
    """
    found = {}
    with threadpool_limits(1):
        for name, problem, arguments in cases():
            solution = ss.solve(problem, n_threads=1, **arguments)
            found[name] = {
                "nodes": solution.nodes,
                "status": str(solution.status),
                "support": solution.support.tolist(),
                "objective": solution.objective.hex(),
                "lower_bound": solution.lower_bound.hex(),
            }
    return found


def circumstances() -> dict[str, str]:
    """What decides the last bits: the processor that code is compiled for, and the libraries that sum."""
    import llvmlite.binding
    import numba
    import scipy

    versions = {"numba": numba.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
    return {"processor": llvmlite.binding.get_host_cpu_name(), **versions}


if __name__ == "__main__":
    RECORD.write_text(json.dumps({"circumstances": circumstances(), "answers": answers()}, indent=1) + "\n")
