"""Where the defaults come from: what each ridge and each rule of choice predicts on data it has not seen.

    python benchmarks/defaults.py [--processes 2]

For every split of every data set, all sizes and ridges are scored on folds of the training part, as cross-validation
does it, and fitted to the whole training part, a second each, and scored on the test part. The tables then show what a
single model would have predicted with each pair of ridges, and what cross-validation would have chosen with each grid.
Needs ``SAFESCREEN_DATA``; data sets that cannot be had are announced and left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import harness
import numpy as np
import predictors
from harness import Row
from prediction import SETS, at_hand

from safescreen import L0LogisticRegressionCV, Problem
from safescreen.defaults import REFIT_PER_SAMPLE, SIZES
from safescreen.estimation import models_at
from safescreen.estimators.candidates import Candidates
from safescreen.estimators.choosing import choose
from safescreen.estimators.folds import Fold, solve_candidates
from safescreen.estimators.classifier import L0LogisticRegression
from safescreen.prediction import accuracy, linear_predictor, log_loss

GAMMAS = (1.0, 3.0, 10.0, 30.0)
REFITS = ("same", 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
BUDGETS = (5, 10, 20)
PROVED, FOLD_GAP = 1e-4, 1e-2
FOLDS_LIMIT, FIT_LIMIT = 110.0, 1.0


@dataclass(frozen=True)
class Scored:
    """All candidates of one split: scores on the folds, log-loss and accuracy on the test part, gaps after a second."""

    candidates: Candidates
    samples: int
    folds: list[Fold]
    test: np.ndarray
    gaps: np.ndarray

    def limited(self, gammas: Sequence[float], weakest: float) -> tuple[Candidates, list[Fold], np.ndarray]:
        """With these ridges of the choice, and no ridge of the estimates weaker than that; and which those are."""
        refits = [refit for refit in self.candidates.refits if refit == "same" or float(refit) <= weakest]
        chosen = replace(self.candidates, gammas=list(gammas), refits=refits)
        params = self.candidates.params
        places = np.array([params.index(one) for one in chosen.params])
        return chosen, [Fold(*(part[places] for part in fold)) for fold in self.folds], places


def scored(name: str, split: int) -> Scored:
    """Score all candidates of one split."""
    warnings.simplefilter("ignore")  # what ends early has its gap in the tables
    part = predictors.make_split(name, split)
    search = L0LogisticRegressionCV(k=SIZES, gamma=GAMMAS, refit_gamma=REFITS, time_limit=FOLDS_LIMIT, refit=False)
    search.fit(part.X, part.y)
    results = search.cv_results_
    blank = np.zeros_like(results["max_gap"])
    folds = [Fold(results[f"split{i}_test_score"], results["max_gap"], blank, blank) for i in range(search.n_splits_)]
    candidates = Candidates("k", list(SIZES), list(GAMMAS), list(REFITS), {})
    problem = Problem(part.X, part.y, k=1)
    template = L0LogisticRegression(k=1)
    solutions = solve_candidates(problem, template, candidates, FIT_LIMIT * len(SIZES) * len(GAMMAS))
    test = []
    for solution in solutions:
        for model in models_at(solution, REFITS):
            coef = np.zeros(problem.n_features)
            coef[solution.support] = model.coefficients
            log_odds = linear_predictor(part.X_test, coef, model.intercept)
            test.append((log_loss(log_odds, part.y_test > 0), accuracy(log_odds, part.y_test > 0)))
    gaps = np.repeat([solution.gap for solution in solutions], len(REFITS))
    return Scored(candidates, len(part.y), folds, np.array(test), gaps)


def over_sets(results: dict[tuple[str, int], Scored], pick: Callable[[Scored], int]) -> Row:
    """Means over data sets of means over splits, of the candidate picked on each."""
    rows: dict[str, list[tuple[float, ...]]] = {}
    for (name, _), one in results.items():
        place = pick(one)
        size = float(one.candidates.params[place]["k"])
        rows.setdefault(name, []).append((*one.test[place], size, float(one.gaps[place] <= PROVED)))
    loss, right, size, proved = np.mean([np.mean(found, axis=0) for found in rows.values()], axis=0).tolist()
    return {"log_loss": loss, "accuracy": right, "features": size, "proved_in_a_second": proved}


def single_models(results: dict[tuple[str, int], Scored]) -> list[Row]:
    """One model of a given size, with each pair of ridges."""
    rows = []
    for k in BUDGETS:
        for gamma in GAMMAS:
            for refit in REFITS[:6]:
                wanted = {"k": k, "gamma": gamma, "refit_gamma": refit}
                found = over_sets(results, lambda one, wanted=wanted: one.candidates.params.index(wanted))
                rows.append({**wanted, **found})
    return rows


def cross_validations(results: dict[tuple[str, int], Scored]) -> list[Row]:
    """What cross-validation would have chosen, with each grid."""
    rows = []
    for gammas in ((1.0, 3.0), (3.0, 10.0), (1.0, 3.0, 10.0), GAMMAS):
        for share in (REFIT_PER_SAMPLE, 1.0, 2.0, np.inf):

            def pick(one: Scored, gammas: Any = gammas, share: float = share) -> int:
                candidates, folds, places = one.limited(gammas, max(share * one.samples, 10.0))
                return int(places[choose(candidates, folds, FOLD_GAP, False)])

            tried = ", ".join(f"{gamma:g}" for gamma in gammas)
            limit = "none" if np.isinf(share) else f"{share:g} n_samples"
            rows.append({"gamma": tried, "weakest_refit_gamma": limit, **over_sets(results, pick)})
    return rows


def main() -> int:
    options = harness.parser(__doc__ or "")
    options.add_argument("--splits", type=int, default=5, help="splits of each data set")
    options.add_argument("--processes", type=int, default=1, help="splits at the same time, each with one thread")
    arguments = options.parse_args()
    names = at_hand(("alon", "gse10072_sub200") if arguments.quick else SETS)
    tasks = [(name, split) for name in names for split in range(1 if arguments.quick else arguments.splits)]
    if not tasks:
        harness.console.print("[red]no data set is at hand: SAFESCREEN_DATA must name their folder[/red]")
        return 2
    with ProcessPoolExecutor(arguments.processes, get_context("spawn")) as pool:
        found = pool.map(scored, *zip(*tasks, strict=True))
        results = dict(zip(tasks, found, strict=True))
    singles, grids = single_models(results), cross_validations(results)
    harness.show("One model", singles)
    harness.show("Cross-validation", grids)
    notes = [
        f"means over {len(names)} data sets and {len(tasks) // len(names)} stratified split(s), "
        f"{predictors.TEST_SHARE:.0%} for testing; proved_in_a_second is the share of final models with a gap of at "
        f"most {PROVED:g} after about a second",
        "cross-validation: five folds, drawn four times up to 200 samples and twice up to 1,000; the rule of choice is "
        "that of L0LogisticRegressionCV; gamma has the ridges of the choice that are tried, weakest_refit_gamma the "
        "weakest ridge of the estimates",
    ]
    harness.save(arguments.output or "defaults", grids, notes, {"One model of a given size": singles})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
