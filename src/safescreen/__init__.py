"""Provably optimal sparse logistic regression with safe screening.

Public names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # each name `as` itself, which tells type checkers that it is public
    from . import datasets as datasets
    from .cv import L0LogisticRegressionCV as L0LogisticRegressionCV
    from .estimators import EndedEarlyWarning as EndedEarlyWarning
    from .estimators import L0LogisticRegression as L0LogisticRegression
    from .estimators import SafeScreener as SafeScreener
    from .path import L0Path as L0Path
    from .path import l0_path as l0_path
    from .plots import ConvergenceDisplay as ConvergenceDisplay
    from .plots import CVDisplay as CVDisplay
    from .plots import PathDisplay as PathDisplay
    from .plots import ScreeningDisplay as ScreeningDisplay
    from .problem import Problem as Problem
    from .relaxation import Relaxation as Relaxation
    from .relaxation import relax as relax
    from .reporting import report as report
    from .saving import load_model as load_model
    from .saving import save_model as save_model
    from .screening import Screening as Screening
    from .screening import screen as screen
    from .search import solve as solve
    from .solution import Solution as Solution
    from .status import Status as Status
    from .verification import Verification as Verification
    from .verification import verify as verify

__version__ = "0.1.0"

_HOMES = {
    "CVDisplay": "plots",
    "ConvergenceDisplay": "plots",
    "EndedEarlyWarning": "estimators",
    "L0LogisticRegression": "estimators",
    "L0LogisticRegressionCV": "cv",
    "L0Path": "path",
    "PathDisplay": "plots",
    "Problem": "problem",
    "Relaxation": "relaxation",
    "SafeScreener": "estimators",
    "Screening": "screening",
    "ScreeningDisplay": "plots",
    "Solution": "solution",
    "Status": "status",
    "Verification": "verification",
    "datasets": "",
    "l0_path": "path",
    "load_model": "saving",
    "relax": "relaxation",
    "report": "reporting",
    "save_model": "saving",
    "screen": "screening",
    "solve": "search",
    "verify": "verification",
}
"""Every public name and the module it lives in; a module is at home in the package itself."""

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
