"""What is asked for when the user does not say: the same for estimators and the command line.

Measured on ten real data sets; see docs/benchmarks/defaults.md.
"""

BUDGET = 10
"""Features allowed when there is neither a budget nor a price."""

GAMMA = 3.0
"""Ridge of the choice: ten features are proved within seconds. With many samples stronger ridges choose features that
repeat each other; weaker ones predict no better and are harder to prove."""

REFIT_GAMMA = "auto"
"""Ridge of the estimates: `AUTO_RIDGE`, or that of the choice where the user chooses at a weaker one."""

AUTO_RIDGE = 30.0
"""Weaker ones are overconfident on few samples, stronger ones timid on many."""

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
"""Budgets that cross-validation tries: all small ones, and coarser where one feature more hardly matters."""

GAMMAS = (1.0, 3.0, 10.0)
"""Ridges of the choice that cross-validation tries."""

REFIT_GAMMAS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Ridges of the estimates that cross-validation tries beside that of the choice; they cost next to nothing."""

REFIT_PER_SAMPLE = 0.5
"""It tries none above this times the number of samples: where samples are few, weaker ones make confident mistakes."""

TOTAL_TIME = 60.0
"""Seconds for a whole cross-validation, the final model included."""


def default_budget(n_required: int, n_features: int) -> int:
    """The budget where there is neither a budget nor a price: with room for the features required."""
    return max(min(BUDGET, n_features), n_required)


def default_sizes(n_required: int, n_features: int) -> list[int]:
    """The budgets to try where there is neither a budget nor a price."""
    fewest = max(1, n_required)
    most = max(fewest, min(SIZES[-1], n_features))
    return sorted({fewest, most, *(size for size in SIZES if fewest <= size <= most)})


def default_refits(n_samples: int) -> list[float | str]:
    """The ridges of the estimates to try."""
    weakest = max(REFIT_GAMMAS[0], REFIT_PER_SAMPLE * n_samples)
    return ["same", *(gamma for gamma in REFIT_GAMMAS if gamma <= weakest)]
