"""FasterRisk's pool of sparse models, in an environment that suits it; called by `alternatives_fasterrisk.py`.

    python benchmarks/fasterrisk_pool.py DATA.npz ANSWER.json OPTIONS.json

Beam search and pool alone are timed, in CPU seconds: rounding to whole-number points comes later.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import _one_thread  # noqa: F401  (before NumPy)
import numpy as np
from fasterrisk.sparseBeamSearch import sparseLogRegModel
from fasterrisk.sparseDiversePool import sparseDiversePoolLogRegModel


def main() -> int:
    source, target, wanted = map(Path, sys.argv[1:])
    with np.load(source, allow_pickle=False) as archive:
        X, y = archive["X"], archive["y"]
    options = json.loads(wanted.read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    start = time.process_time()
    beam = sparseLogRegModel(X, y, lambda2=options["lambda2"])
    beam.get_sparse_sol_via_OMP(k=options["k"], parent_size=options["parent_size"], child_size=options["parent_size"])
    pool = sparseDiversePoolLogRegModel(X, y, lambda2=options["lambda2"])
    pool.warm_start_from_beta0_betas_ExpyXB(*beam.get_beta0_betas_ExpyXB())
    _, coefficients = pool.get_sparseDiversePool(
        gap_tolerance=options["gap_tolerance"],
        select_top_m=options["select_top_m"],
        maxAttempts=options["attempts"],
    )
    seconds = time.process_time() - start
    supports = [np.flatnonzero(np.abs(row) > 1e-9).tolist() for row in coefficients]
    target.write_text(json.dumps({"supports": supports, "seconds": seconds}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
