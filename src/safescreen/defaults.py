"""What is asked for when the user does not say: the same for estimators and the command line.

Measured on ten real data sets; see docs/benchmarks/defaults.md.
"""

BUDGET = 10
"""Features allowed when there is neither a budget nor a price."""

GAMMA = 10.0
"""Ridge of the choice: the weakest at which most choices of ten features can be proved within seconds."""

REFIT_GAMMA = 100.0
"""Ridge of the estimates."""


def default_budget(n_required: int, n_features: int) -> int:
    """The budget where there is neither a budget nor a price: with room for the features required."""
    return max(min(BUDGET, n_features), n_required)
