"""Which problems the paper solves, what it prints about them, and which measurements each table and figure needs.

A problem with the same data and parameters is the same instance wherever it appears, so tables and figures share
what has been measured.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import product

SYNTHETIC = "synthetic"
INFORMATIVE, SNR = 50, 1000.0
"""True features and signal-to-noise ratio of all synthetic data in the paper."""

REG_FEATURES = 500
BUDGET = 50
PRICES = (5e-4, 1e-3)
SAMPLES = (200, 500, 1000)
RIDGES = (1.0, 1.5, 1.8)

CARD_FEATURES = {200: 0.25, 500: 0.25, 1000: 0.05, 2941: 0.017}
"""Features of a CARD setting, and the ``k/n`` under which the paper prints it.

At k = 50 a ratio of 0.25 means n = 200. The figures printed there come out at n = 500, the size of REG, so both are
measured.
"""

LITERAL_FEATURES = 200
"""What k/n = 0.25 means if taken literally."""

REAL_RIDGES = {
    "genomic": (0.5, 1.0, 1.5),
    "chowdary": (0.5, 1.0, 1.5),
    "arcene": (0.5, 1.0, 1.5),
    "newsgroups": (0.5, 0.7, 1.0),
}
STAND_INS = {"chowdary": "genomic"}
"""Data sets that are measured beside one that cannot be had everywhere, under their own name."""

MODES = ("none", "root", "nodes")
BASELINES = {"clarabel": ("conic", "conic+screening"), "mosek": ("mosek", "mosek+screening")}

DEFAULT_SEEDS = 10
FEWER_SEEDS = 3
MANY_FEATURES = 2000
"""From so many features on, and for the baseline, `FEWER_SEEDS` are the default."""

QUICK_SEEDS = 2

Cell = float | str | None


@dataclass(frozen=True, order=True)
class Instance:
    """One optimisation problem: data and parameters."""

    data: str
    gamma: float
    mu: float | None = None
    k: int | None = None
    n: int = 0
    m: int = 0
    seed: int = 0

    @property
    def label(self) -> str:
        """Short, unique and readable: the key under which results are stored."""
        parts = [self.data]
        if self.data == SYNTHETIC:
            parts += [f"n={self.n}", f"m={self.m}", f"seed={self.seed}"]
        parts += [f"mu={self.mu:g}"] if self.mu is not None else []
        parts += [f"k={self.k}"] if self.k is not None else []
        return " ".join([*parts, f"gamma={self.gamma:g}"])


@dataclass(frozen=True)
class Task:
    """One measurement on one instance."""

    instance: Instance
    kind: str
    gap: float
    time_limit: float

    @property
    def key(self) -> str:
        """What identifies the result; the time limit is left out, because most results do not depend on it."""
        gap = "" if self.kind == "roots" else f" gap={self.gap:g}"
        return f"{self.instance.label} {self.kind}{gap}"


# -- the paper -------------------------------------------------------------------------------------------


def reg_settings(quick: bool = False) -> list[Instance]:
    """Price per feature, n = 500: Tables 1 and 3, Figure 1."""
    prices, samples, ridges = ((1e-3,), (200, 500), (1.0, 1.8)) if quick else (PRICES, SAMPLES, RIDGES)
    return [Instance(SYNTHETIC, gamma, mu=mu, n=REG_FEATURES, m=m) for mu, m, gamma in product(prices, samples, ridges)]


def card_settings(quick: bool = False) -> list[Instance]:
    """Budget of 50 features: Tables 2 and 4, Figure 2."""
    features, samples, ridges = (
        ((200, 500, 1000), (200, 500), (1.0, 1.5)) if quick else (tuple(CARD_FEATURES), SAMPLES, RIDGES)
    )
    return [Instance(SYNTHETIC, gamma, k=BUDGET, n=n, m=m) for n, m, gamma in product(features, samples, ridges)]


def real_settings(quick: bool = False) -> list[Instance]:
    """Real data, standardised, price per feature: Table 5."""
    return [
        Instance(name, gamma, mu=mu)
        for name, ridges in REAL_RIDGES.items()
        for mu, gamma in product(PRICES[1:] if quick else PRICES, ridges[:2] if quick else ridges)
    ]


def baseline_settings(quick: bool = False) -> list[Instance]:
    """Settings of the paper that an interior-point branch and bound solves in minutes."""
    if quick:
        return [
            Instance(SYNTHETIC, 1.0, mu=1e-3, n=REG_FEATURES, m=500),
            Instance(SYNTHETIC, 1.0, k=BUDGET, n=200, m=200),
        ]
    reg = [Instance(SYNTHETIC, gamma, mu=1e-3, n=REG_FEATURES, m=m) for m, gamma in product((200, 500), (1.0, 1.5))]
    small = [Instance(SYNTHETIC, gamma, k=BUDGET, n=200, m=200) for gamma in RIDGES]
    card = [Instance(SYNTHETIC, gamma, k=BUDGET, n=500, m=m) for m, gamma in product((200, 500), (1.0, 1.5))]
    return reg + small + card


def published(table: str, setting: Instance) -> dict[str, Cell]:
    """What a table of the paper says about a setting; nothing if it is not there."""
    names = {"dataset": setting.data, "k_over_n": CARD_FEATURES.get(setting.n)}
    names |= {"mu": setting.mu, "m": setting.m, "gamma": setting.gamma}
    for row in published_table(table):
        if all(row[name] == value for name, value in names.items() if name in row):
            return row
    return {}


@cache
def published_table(table: str) -> list[dict[str, Cell]]:
    """The rows of a table of the paper; numbers are floats, and what the paper leaves open is None."""
    source = resources.files(__package__) / "published" / f"{table}.csv"
    rows = csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    return [{name: _cell(text) for name, text in row.items()} for row in rows]


def _cell(text: str) -> Cell:
    try:
        return float(text)
    except ValueError:
        return text or None


# -- what to measure -------------------------------------------------------------------------------------

_NEEDS = {
    "table1": (reg_settings, ("roots", "nodes")),
    "table2": (card_settings, ("roots", "nodes")),
    "table3": (reg_settings, MODES),
    "table4": (card_settings, MODES),
    "table5": (real_settings, ("roots", *MODES)),
    "figure1": (reg_settings, ("roots",)),
    "figure2": (card_settings, ("roots",)),
    "baseline": (baseline_settings, MODES),
}
"""The settings of a table or figure, in the paper's order, and what is measured on them."""

TARGETS = tuple(_NEEDS)


@dataclass(frozen=True)
class Choice:
    """What the user asks for."""

    targets: tuple[str, ...] = TARGETS
    seeds: int | None = None
    quick: bool = False
    gap: float = 1e-4
    time_limit: float = 300.0
    backend: str = "clarabel"

    def settings(self, target: str) -> list[Instance]:
        """The settings of a table or figure, in the paper's order."""
        return _NEEDS[target][0](self.quick)

    def kinds(self, target: str) -> tuple[str, ...]:
        """What a table or figure needs to have measured on each of its instances."""
        own = BASELINES[self.backend] if target == "baseline" else ()
        return (*own, *_NEEDS[target][1])

    def instances(self, target: str, setting: Instance) -> list[Instance]:
        """The instances of a setting: one per seed, or the data set itself."""
        if setting.data != SYNTHETIC:
            return [setting]
        count = QUICK_SEEDS if self.quick else DEFAULT_SEEDS
        if not self.quick and (target == "baseline" or setting.n >= MANY_FEATURES):
            count = FEWER_SEEDS
        return [replace(setting, seed=seed) for seed in range(self.seeds or count)]


def tasks(choice: Choice, missing: frozenset[str] = frozenset()) -> list[Task]:
    """All measurements, each once, without those on data sets that are ``missing``.

    Ordered by seed, the dear ones first: after the first seed every setting has been seen once, which makes the
    estimate of the remaining time an honest one.
    """
    wanted = [
        Task(instance, kind, choice.gap, choice.time_limit)
        for target in choice.targets
        for setting in choice.settings(target)
        if setting.data not in missing
        for instance, kind in product(choice.instances(target, setting), choice.kinds(target))
    ]
    distinct = {task.key: task for task in wanted}
    return sorted(distinct.values(), key=lambda task: (task.instance.seed, -guessed_seconds(task)))


def guessed_seconds(task: Task) -> float:
    """Seconds a measurement may take, before anything has been measured: right within a factor of ten or so.

    Weak ridge, few samples and many features make a search long; Clarabel's nodes take most of a second.
    """
    instance, kind = task.instance, task.kind
    if instance.data != SYNTHETIC:
        guess = {"roots": 0.5, "none": 4.0}.get(kind, 1.0)
    elif kind == "roots":
        guess = 0.2
    else:
        hardness: float = 10.0 ** (2.5 * (instance.gamma - 1.0)) * (200.0 / instance.m) ** 1.5
        if instance.k is not None:
            hardness *= (instance.n / 1000.0) ** 2
        unit = {"none": 0.15, "root": 0.05, "nodes": 0.03}.get(kind, 1.0 if kind.endswith("screening") else 10.0)
        guess = unit * max(hardness, 0.05) + 0.1
    return max(min(guess, task.time_limit), 1e-3)
