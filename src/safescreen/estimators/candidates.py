"""The candidates of a cross-validation: budgets or prices, ridges of the choice, ridges of the estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from safescreen.defaults import default_refits, default_sizes
from safescreen.estimation import check_refit_gamma
from safescreen.path import checked_values, is_sequence
from safescreen.problem.validation import about, check_budget, check_gamma, check_price

CHOSEN = ("k", "mu", "gamma", "refit_gamma")
"""What may be tried in several values."""


@dataclass(frozen=True)
class Candidates:
    """Each ridge of the choice with each budget or price, and each of these with each ridge of the estimates.

    The ridge of the estimates runs fastest: all of them belong to one search.
    """

    name: str
    values: list[Any]
    gammas: list[float]
    refits: list[float | str]
    fixed: dict[str, Any]

    @property
    def params(self) -> list[dict[str, Any]]:
        """One set of parameters per candidate."""
        return [
            {self.name: value, "gamma": gamma, "refit_gamma": refit}
            for gamma in self.gammas
            for value in self.values
            for refit in self.refits
        ]

    @property
    def tried(self) -> dict[str, list[Any]]:
        """The values of each parameter."""
        return {self.name: self.values, "gamma": self.gammas, "refit_gamma": self.refits}


def make_candidates(
    k: Any, mu: Any, gamma: Any, refit_gamma: Any, *, n_samples: int, n_features: int, n_required: int
) -> Candidates:
    """The candidates a user asks for; the problem keeps what is fixed."""
    if is_sequence(k) and is_sequence(mu):
        raise ValueError("k and mu are both sequences, but only one of them may be.")
    gammas = checked_values("gamma", gamma) if is_sequence(gamma) else [check_gamma(gamma)]
    refits = default_refits(n_samples) if refit_gamma is None else _refits(refit_gamma)
    if k is None and mu is None:
        k = default_sizes(n_required, n_features)
    if is_sequence(mu) or k is None:
        values = checked_values("mu", mu) if is_sequence(mu) else [check_price(mu)]
        name, fixed = "mu", {"k": check_budget(k), "mu": values[0]}
    else:
        values = checked_values("k", k) if is_sequence(k) else [check_budget(k)]
        name, fixed = "k", {"k": values[0], "mu": mu}
    return Candidates(name, values, gammas, refits, {**fixed, "gamma": gammas[0], "refit_gamma": refits[0]})


def _refits(refit_gamma: Any) -> list[float | str]:
    """The ridges of the estimates, one or several."""
    if isinstance(refit_gamma, str) or not is_sequence(refit_gamma):
        return [check_refit_gamma(refit_gamma)]
    values: Sequence[Any] = list(refit_gamma)
    if not values:
        raise about("refit_gamma", ValueError("refit_gamma is empty, but at least one value is needed."))
    return [check_refit_gamma(value) for value in values]
