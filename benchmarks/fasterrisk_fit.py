"""One fit of FasterRisk with its own defaults, in an environment that suits it; called by `predictors.py`.

    python benchmarks/fasterrisk_fit.py DATA.npz ANSWER.json as-is|binary

Only the fit is timed, with the making of binary columns where they are asked for.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import _one_thread  # noqa: F401  (before NumPy)
import numpy as np
import pandas as pd
from fasterrisk.binarization_util import BinBinarizer
from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

BUDGET = 10
"""The number of features in its own wrapper for scikit-learn."""


def main() -> int:
    source, target, form = sys.argv[1:]
    with np.load(source, allow_pickle=False) as archive:
        X, y, X_test = archive["X"], archive["y"], archive["X_test"]
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    if form == "binary":
        names = [f"x{j}" for j in range(X.shape[1])]
        binarizer = BinBinarizer()
        X, _ = binarizer.fit_transform(pd.DataFrame(X, columns=names))
        X_test, _ = binarizer.transform(pd.DataFrame(X_test, columns=names))
        X, X_test = X.to_numpy(np.float64), X_test.to_numpy(np.float64)
    search = RiskScoreOptimizer(X=X, y=y, k=BUDGET)
    search.optimize()
    multiplier, intercept, points = search.get_models(model_index=0)
    seconds = time.perf_counter() - start
    probability = RiskScoreClassifier(multiplier, intercept, points).predict_prob(X_test)
    answer = {"probability": probability.tolist(), "features": int(np.count_nonzero(points)), "seconds": seconds}
    Path(target).write_text(json.dumps(answer), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
