"""How well do the models predict? Cross-validated sparse logistic regressions on data they have not seen.

Ours against scikit-learn's L1 logistic regression and abess: fitted on arcene's training part and tested on its
validation part; averaged over stratified splits (a third for testing) on golub, alon and breast cancer. Every method
chooses its parameters by log-loss on the same five folds of the training part. Needs ``SAFESCREEN_DATA`` for all data
sets but breast cancer; those that cannot be had are announced and left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np
from harness import Row, console
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safescreen import L0LogisticRegression, L0LogisticRegressionCV
from safescreen.datasets import load_local

DATA = ("arcene", "golub", "alon", "breast_cancer")
BUDGETS, GAMMAS = (1, 2, 3, 5, 8, 10), (1.0, 10.0, 100.0)
FOLDS = 5
CLIP = 1e-6
FOLD_GAP, FOLD_LIMIT = 1e-2, 2.0
FINAL_GAP, FINAL_LIMIT = 1e-4, 20.0


@dataclass(frozen=True)
class Split:
    """A part to learn from, with the folds everyone uses, and a part to predict; labels are 0 and 1."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The same five stratified folds for every method."""
        return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(self.X, self.y))


@dataclass(frozen=True)
class Fitted:
    """Probabilities of the positive class on the test part, the features used, and the gap where there is one."""

    probability: np.ndarray
    features: int
    gap: float | None = None


Method = Callable[[Split, int], Fitted]


def ours(split: Split, jobs: int) -> Fitted:
    """Budget and ridge chosen by quick searches inside the folds, the final model by a longer one."""
    search = L0LogisticRegressionCV(
        k=BUDGETS, gamma=GAMMAS, cv=split.folds, refit=False, n_jobs=jobs,
        rel_gap=FOLD_GAP, time_limit=FOLD_LIMIT,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table has the gap of the final model
        search.fit(split.X, split.y)
        model = L0LogisticRegression(**search.best_params_, rel_gap=FINAL_GAP, time_limit=FINAL_LIMIT)
        model.fit(split.X, split.y)
    return Fitted(model.predict_proba(split.X_test)[:, 1], model.support_.size, model.gap_)


def l1(split: Split, jobs: int) -> Fitted:
    """scikit-learn's own choice of ten penalties."""
    search = LogisticRegressionCV(
        l1_ratios=(1.0,), solver="liblinear", cv=split.folds, scoring="neg_log_loss", max_iter=1000, n_jobs=jobs,
        random_state=0, use_legacy_attributes=False,
    )  # fmt: skip
    model = make_pipeline(StandardScaler(), search).fit(split.X, split.y)
    return Fitted(model.predict_proba(split.X_test)[:, 1], np.count_nonzero(search.coef_))


def abess(split: Split, jobs: int) -> Fitted:
    """The library as it comes: no ridge, its own choice of support sizes."""
    return _abess(split, jobs)


def abess_ridge(split: Split, jobs: int) -> Fitted:
    """The library with our grid; abess sums the loss over the samples where we average."""
    alphas = [len(split.y) / gamma for gamma in GAMMAS]
    return _abess(split, jobs, support_size=list(BUDGETS), alpha=alphas)


def _abess(split: Split, jobs: int, **options: Any) -> Fitted:
    from abess import LogisticRegression

    fold_of = np.empty(len(split.y), dtype=np.int32)
    for number, (_, held_out) in enumerate(split.folds):
        fold_of[held_out] = number
    scaler = make_pipeline(VarianceThreshold(), StandardScaler()).fit(split.X)  # abess refuses constant features
    model = LogisticRegression(cv=FOLDS, cv_score="test_loss", thread=jobs, **options)
    model.fit(scaler.transform(split.X), split.y, is_normal=False, cv_fold_id=fold_of)
    return Fitted(model.predict_proba(scaler.transform(split.X_test))[:, 1], np.count_nonzero(model.coef_))


METHODS: dict[str, Method] = {"ours": ours, "sklearn_l1": l1, "abess": abess, "abess_ridge": abess_ridge}


def available() -> dict[str, Method]:
    """The methods whose libraries are installed; others are announced and left out."""
    try:
        import abess  # noqa: F401
    except ImportError as error:
        console.print(f"[yellow]without abess: {error}[/yellow]")
        return {name: method for name, method in METHODS.items() if not name.startswith("abess")}
    return dict(METHODS)


def load(name: str, repeats: int) -> list[Split]:
    """The given test part, or stratified splits with fixed seeds."""
    if name == "arcene":
        return [Split(*_labelled("arcene"), *_labelled("arcene_valid"))]
    X, y = load_breast_cancer(return_X_y=True) if name == "breast_cancer" else _labelled(name)
    splitter = StratifiedShuffleSplit(repeats, test_size=1 / 3, random_state=0)
    return [Split(X[train], y[train], X[test], y[test]) for train, test in splitter.split(X, y)]


def _labelled(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_local(name)
    return np.asarray(X, dtype=np.float64), (y > 0).astype(np.int64)


def measure(method: Method, splits: list[Split], jobs: int) -> Row:
    """One method on one data set: means over the splits, and the largest gap."""
    accuracies, losses, features, seconds, gaps = [], [], [], [], []
    for split in splits:
        start = time.perf_counter()
        fitted = method(split, jobs)
        seconds.append(time.perf_counter() - start)
        accuracies.append(accuracy_score(split.y_test, fitted.probability > 0.5))
        losses.append(log_loss(split.y_test, np.clip(fitted.probability, CLIP, 1 - CLIP)))
        features.append(fitted.features)
        gaps.append(fitted.gap)
    return {
        "accuracy": float(np.mean(accuracies)),
        "log_loss": float(np.mean(losses)),
        "features": float(np.mean(features)),
        "seconds": float(np.mean(seconds)),
        "largest_gap": None if None in gaps else max(gaps),
    }


def warm_up(methods: dict[str, Method], jobs: int) -> None:
    """Compile, and start the worker processes, before anything is timed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 60))
    y = (X[:, :5].sum(axis=1) + rng.standard_normal(120) > 0).astype(np.int64)
    split = Split(X[:80], y[:80], X[80:], y[80:])
    for method in methods.values():
        method(split, jobs)


def main() -> int:
    options = harness.parser(__doc__ or "")
    options.add_argument("--splits", type=int, default=3, help="splits of a data set without a test part")
    options.add_argument("--jobs", type=int, default=1, help="folds fitted at the same time, for every method")
    arguments = options.parse_args()
    start = time.perf_counter()
    methods = available()
    console.print("compiling ...")
    warm_up(methods, arguments.jobs)

    rows: list[Row] = []
    for name in DATA:
        if arguments.quick and name not in ("alon", "breast_cancer"):
            continue
        try:
            splits = load(name, 1 if arguments.quick else arguments.splits)
        except FileNotFoundError as error:
            console.print(f"[yellow]without {name}: {error}[/yellow]")
            continue
        for method_name, method in methods.items():
            row = {"data": name, "splits": len(splits), "method": method_name}
            rows.append(row | measure(method, splits, arguments.jobs))
            harness.say(rows[-1])

    harness.show("prediction on unseen data, parameters cross-validated", rows)
    notes = [
        f"means over the splits; log-loss with probabilities clipped to [{CLIP:g}, 1 - {CLIP:g}]; seconds for "
        f"cross-validation and final fit with {arguments.jobs} job(s); largest_gap is that of our final models",
        f"ours: gap {FOLD_GAP:g} within {FOLD_LIMIT:g} s per fit inside the folds, final fit {FINAL_GAP:g} within "
        f"{FINAL_LIMIT:g} s",
        "abess: no ridge, its own support sizes; abess_ridge: budgets and ridges as ours",
        f"the whole run took {time.perf_counter() - start:.0f} s",
    ]
    harness.save(arguments.output or "prediction", rows, notes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
