"""From an instance to a `Problem`: synthetic data by recipe, real data by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from safescreen import datasets
from safescreen.problem import Problem
from safescreen.reproduction.experiments import INFORMATIVE, REAL_RIDGES, SNR, STAND_INS, SYNTHETIC, Instance


def make_problem(instance: Instance, genomic: str | None = None) -> Problem:
    """The problem of an instance; real data are standardised, as they must have been in the paper."""
    if instance.data == SYNTHETIC:
        X, y = _synthetic(instance.m, instance.n, instance.seed)
    else:
        X, y = real_data(instance.data, genomic)
    standardize = instance.data != SYNTHETIC
    return Problem(
        X, y, mu=instance.mu, k=instance.k, gamma=instance.gamma, standardize=standardize, fit_intercept=False
    )


@lru_cache(maxsize=1)
def _synthetic(m: int, n: int, seed: int) -> tuple[Any, Any]:
    X, y, _ = datasets.make_sparse_logistic(m, n, min(INFORMATIVE, n), SNR, random_state=seed)
    return X, y


@lru_cache(maxsize=1)
def real_data(name: str, genomic: str | None = None) -> tuple[Any, Any]:
    """A real data set, from this computer or its public source."""
    if name in STAND_INS:
        return datasets.load_local(name)
    if name not in REAL_RIDGES:
        raise ValueError(f"the data set is {name!r}, but must be one of {', '.join((*REAL_RIDGES, *STAND_INS))}.")
    if name == "genomic":
        found = datasets.fetch_genomic(genomic)
    else:
        found = datasets.fetch_arcene() if name == "arcene" else datasets.fetch_newsgroups()
    return found.data, found.target


def availability(names: set[str], genomic: str | None = None) -> dict[str, str]:
    """The data sets that cannot be had here, each with one sentence that says why."""
    missing = {}
    for name in sorted(names):
        try:
            real_data(name, genomic)
        except (FileNotFoundError, ValueError) as error:
            if name == "genomic" and genomic is not None:
                raise  # the user named a file: say what is wrong with it
            missing[name] = str(error)
    real_data.cache_clear()
    return missing
