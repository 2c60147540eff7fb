"""Provably optimal sparse logistic regression with safe screening.

Public names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safescreen import datasets
    from safescreen.estimators import L0LogisticRegression, L0LogisticRegressionCV, SafeScreener
    from safescreen.path import L0Path, l0_path
    from safescreen.plots import ConvergenceDisplay, CVDisplay, PathDisplay, ScreeningDisplay
    from safescreen.problem import Problem
    from safescreen.relaxation import Relaxation, relax
    from safescreen.reporting import report
    from safescreen.saving.model_files import load_model, save_model
    from safescreen.screening import Screening
    from safescreen.search import Solution, screen, solve
    from safescreen.verification import Verification, verify

__version__ = "0.1.0"

__all__ = [
    "CVDisplay",
    "ConvergenceDisplay",
    "L0LogisticRegression",
    "L0LogisticRegressionCV",
    "L0Path",
    "PathDisplay",
    "Problem",
    "Relaxation",
    "SafeScreener",
    "Screening",
    "ScreeningDisplay",
    "Solution",
    "Verification",
    "__version__",
    "datasets",
    "l0_path",
    "load_model",
    "relax",
    "report",
    "save_model",
    "screen",
    "solve",
    "verify",
]

_HOMES = {
    "L0LogisticRegression": "estimators",
    "CVDisplay": "plots",
    "ConvergenceDisplay": "plots",
    "L0LogisticRegressionCV": "estimators",
    "L0Path": "path",
    "PathDisplay": "plots",
    "Problem": "problem",
    "Relaxation": "relaxation",
    "SafeScreener": "estimators",
    "Screening": "screening",
    "ScreeningDisplay": "plots",
    "Solution": "search",
    "load_model": "saving.model_files",
    "l0_path": "path",
    "relax": "relaxation",
    "report": "reporting",
    "save_model": "saving.model_files",
    "screen": "search",
    "solve": "search",
    "Verification": "verification",
    "verify": "verification",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module(".datasets", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
