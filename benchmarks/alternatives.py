"""All good models on six real data sets: how many, how long beside the best model alone, and whether the proof holds.

    python benchmarks/alternatives.py [--time-limit 60] [--sets golub,alon]

Five features, gamma 10, standardised, with intercept; one thread. A budget alone lists minimal models. Needs
``SAFESCREEN_DATA`` for all but breast cancer. Every proof must be accepted, and complete whatever claims to be.

The solver, the list without a proof, the list with one and the check take turns. A check starts from the arrays, the
others from a problem whose statistics are known. Very many models are listed once, for the rate. CPU seconds are those
of this process, which has one thread: on a machine that others use too they say more than the clock.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import weak_ridge
from harness import Outcome, Row

SETS = ("breast_cancer_interactions", "golub", "alon", "chowdary", "gse10072_sub200", "newsgroups_tfidf")
TOLERANCES = (0.001, 0.01, 0.05)
K, GAMMA = 5, 10.0
CROWDS: tuple[tuple[str, float, dict[str, float]], ...] = (
    ("alon", 0.10, {"k": K, "gamma": GAMMA}),
    ("golub", 0.01, {"mu": 0.01, "gamma": 1.0}),
)
"""Where there are very many models: data set, tolerance and terms."""
MOST_MODELS = 1_000_000
MOST_CHECKED = 100_000
MANY = 1_000
"""From so many models on a rate means something."""


def list_models(problem: Any, within: float, time_limit: float, proof: Path | None = None) -> Any:
    """All models within a tolerance, as far as the limits allow."""
    import safescreen as ss

    return ss.alternatives(problem, within=within, max_models=MOST_MODELS, time_limit=time_limit, proof=proof)


def completeness(found: Any) -> str:
    """``yes``, or what ended the list and above what excess over the best models may be missing."""
    if found.complete:
        return "yes"
    return f"{found.status}; missing ones from {100 * (found.missing_bound / found.best.objective - 1):+.3f} % on"


class Turns:
    """The four runs on one problem and tolerance, which take turns."""

    def __init__(self, data: tuple[Any, Any], problem: Any, within: float, time_limit: float, folder: Path) -> None:
        self.data, self.problem, self.within, self.time_limit = data, problem, within, time_limit
        self.proof = folder / f"{within}.npz"
        self.cpu: dict[str, list[float]] = {}

    def timed(self, name: str, run: Callable[[], Outcome]) -> Callable[[], Outcome]:
        """The same run, its CPU seconds noted."""

        def noting() -> Outcome:
            start = time.process_time()
            outcome = run()
            self.cpu.setdefault(name, []).append(time.process_time() - start)
            return outcome

        return noting

    def solve(self) -> Outcome:
        import safescreen as ss

        solution = ss.solve(self.problem, rel_gap=1e-4, time_limit=self.time_limit)
        return Outcome(solution.objective, solution.nodes, solution.gap)

    def plain(self) -> Outcome:
        self.found = list_models(self.problem, self.within, self.time_limit)
        return Outcome(self.found.best.objective, self.found.nodes)

    def proved(self) -> Outcome:
        self.written = list_models(self.problem, self.within, self.time_limit, self.proof)
        return Outcome(self.written.best.objective, self.written.nodes)

    def check(self) -> Outcome:
        import safescreen as ss

        if len(self.written) > MOST_CHECKED:
            return Outcome(math.nan, 0, details={"verdict": "not checked"})
        result = ss.verify(self.proof, *self.data, k=K, gamma=GAMMA)
        written = self.written
        right = result.valid and result.models == len(written) and result.claims["complete"] == written.complete
        verdict = "yes" if right else f"WORSE {result.reason}"
        return Outcome(result.objective, result.nodes, details={"verdict": verdict})

    def row(self, budget: float) -> Row:
        """What they took, and what they found."""
        runs = {"solve": self.solve, "list": self.plain, "proof": self.proved, "check": self.check}
        timings = harness.interleaved({name: self.timed(name, run) for name, run in runs.items()}, budget)
        solve, plain, proof, check = (min(self.cpu[name]) for name in runs)
        found, verdict = self.found, timings["check"].outcome.details["verdict"]
        unfinished = not found.complete  # then both runs take the same time, and nothing is known about the difference
        return {
            "within_percent": 100 * self.within,
            "models": len(found),
            "complete": completeness(found),
            "nodes": found.nodes,
            "seconds": timings["list"].best,
            "solve_seconds": timings["solve"].best,
            "cpu_seconds": plain,
            "solve_cpu_seconds": solve,
            "cpu_ratio": plain / solve,
            "models_per_cpu_second": len(found) / plain if len(found) >= MANY else math.nan,
            "proof_megabytes": self.proof.stat().st_size / 1e6,
            "proof_extra_cpu_seconds": math.nan if unfinished else proof - plain,
            "check_cpu_seconds": math.nan if verdict == "not checked" else check,
            "valid": verdict,
        }


def feature_rows(name: str, problem: Any, within: float, time_limit: float) -> list[Row]:
    """The features of the best model: in how many models, and what doing without them costs, bound and all."""
    found = list_models(problem, within, time_limit)
    start = time.perf_counter()
    prices = found.prices_without
    seconds = time.perf_counter() - start
    best, always = found.best, set(found.always.tolist())
    rows: list[Row] = []
    for j in sorted(best.support.tolist(), key=lambda j: -prices.price[j]):
        rows.append(
            {
                "data": name,
                "models": len(found),
                "complete": completeness(found),
                "in_all": len(always),
                "feature": f"{problem.names([j])[0]}",
                "always": "yes" if j in always else "no",
                "share_percent": 100 * float(found.share[j]),
                "price_percent": 100 * float(prices.price[j]) / best.objective,
                "proved_percent": 100 * float(prices.bound[j]) / best.objective,
                "prices_seconds": seconds,
            }
        )
    return rows


def crowd_row(name: str, within: float, terms: dict[str, float], time_limit: float) -> Row:
    """Very many models, listed once: how many a second, and what ended it."""
    import safescreen as ss

    problem = ss.Problem(*weak_ridge.load(name), **terms)
    ss.solve(problem, rel_gap=1e-4, time_limit=time_limit)  # its statistics are known from here on
    start, cpu = time.perf_counter(), time.process_time()
    found = list_models(problem, within, time_limit)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {
        "data": name,
        "terms": ", ".join(f"{key}={value:g}" for key, value in terms.items()),
        "kind": "minimal" if found.minimal else "all",
        "within_percent": 100 * within,
        "models": len(found),
        "complete": completeness(found),
        "nodes": found.nodes,
        "models_per_node": len(found) / max(found.nodes, 1),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "models_per_cpu_second": len(found) / cpu,
    }


def warm_up() -> None:
    """Compile everything that is timed."""
    import safescreen as ss

    X, y, _ = ss.datasets.make_sparse_logistic(60, 20, 3, 1.0, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        for terms in ({"k": 3}, {"mu": 0.01}):
            list_models(ss.Problem(X, y, **terms), 0.05, 60.0, Path(folder) / "proof.npz")
            ss.verify(Path(folder) / "proof.npz", X, y)


def main() -> int:
    options = harness.parser(__doc__ or "")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    options.add_argument("--folder", default=memory, help="where proofs are written")
    options.add_argument("--sets", default=",".join(SETS), help="comma-separated choice of data sets")
    options.add_argument("--time-limit", type=float, default=60.0, help="seconds for each list")
    options.add_argument("--crowd-time-limit", type=float, default=60.0, help="seconds where there are very many")
    arguments = options.parse_args()
    import safescreen as ss

    warm_up()
    names = ("breast_cancer_interactions",) if arguments.quick else tuple(arguments.sets.split(","))
    rows: list[Row] = []
    features: list[Row] = []
    for name in names:
        try:
            data = weak_ridge.load(name)
        except FileNotFoundError as error:
            harness.console.print(f"[yellow]without {name}: {error}[/yellow]")
            continue
        problem = ss.Problem(*data, k=K, gamma=GAMMA)
        for within in TOLERANCES:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                turns = Turns(data, problem, within, arguments.time_limit, Path(folder))
                rows.append({"data": name} | turns.row(arguments.budget))
            harness.say(rows[-1])
        features += feature_rows(name, problem, 0.01, arguments.time_limit)
    crowds = [crowd_row(*crowd, arguments.crowd_time_limit) for crowd in CROWDS if crowd[0] in names]
    more = {"Features of the best model, and all models within 1 %": features}
    more |= {"Very many models": crowds} if crowds else {}
    for title, table in more.items():
        harness.show(title, table)
    harness.show("all good models", rows)
    worse = sum(str(cell).startswith("WORSE") for row in rows for cell in row.values())
    notes = [
        f"{K} features, gamma {GAMMA:g}, standardised, with intercept; {arguments.time_limit:g} s for each list",
        f"proofs refused: {worse} of {len(rows)}",
    ]
    harness.save(arguments.output or "alternatives", rows, notes, more)
    return int(worse > 0)


if __name__ == "__main__":
    raise SystemExit(main())
