"""Provably optimal sparse logistic regression with safe screening.

Public names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # each name `as` itself, which tells type checkers that it is public
    from safescreen import datasets as datasets
    from safescreen.cores import Core as Core
    from safescreen.cores import core as core
    from safescreen.estimation import Estimate as Estimate
    from safescreen.estimators import CopiesWarning as CopiesWarning
    from safescreen.estimators import EndedEarlyWarning as EndedEarlyWarning
    from safescreen.estimators import GridEdgeWarning as GridEdgeWarning
    from safescreen.estimators import L0LogisticRegression as L0LogisticRegression
    from safescreen.estimators import L0LogisticRegressionCV as L0LogisticRegressionCV
    from safescreen.estimators import OneClassWarning as OneClassWarning
    from safescreen.estimators import SafeScreener as SafeScreener
    from safescreen.estimators import ScaleWarning as ScaleWarning
    from safescreen.estimators import Selection as Selection
    from safescreen.good_models import Alternatives as Alternatives
    from safescreen.good_models import alternatives as alternatives
    from safescreen.path import L0Path as L0Path
    from safescreen.path import l0_path as l0_path
    from safescreen.plots import AlternativesDisplay as AlternativesDisplay
    from safescreen.plots import ConvergenceDisplay as ConvergenceDisplay
    from safescreen.plots import CoreDisplay as CoreDisplay
    from safescreen.plots import CVDisplay as CVDisplay
    from safescreen.plots import PathDisplay as PathDisplay
    from safescreen.plots import ScreeningDisplay as ScreeningDisplay
    from safescreen.plots import StabilityDisplay as StabilityDisplay
    from safescreen.problem import Problem as Problem
    from safescreen.relaxation import Relaxation as Relaxation
    from safescreen.relaxation import relax as relax
    from safescreen.reporting import report as report
    from safescreen.saving.model_files import load_model as load_model
    from safescreen.saving.model_files import save_model as save_model
    from safescreen.screening import Screening as Screening
    from safescreen.search import CheckpointNotWrittenWarning as CheckpointNotWrittenWarning
    from safescreen.search import ProofNotWrittenWarning as ProofNotWrittenWarning
    from safescreen.search import Solution as Solution
    from safescreen.search import screen as screen
    from safescreen.search import solve as solve
    from safescreen.stability import Stability as Stability
    from safescreen.status import Status as Status
    from safescreen.summary import Summary as Summary
    from safescreen.verification import Verification as Verification
    from safescreen.verification import verify as verify

__version__ = "0.1.0"

_HOMES = {
    "Alternatives": "good_models",
    "AlternativesDisplay": "plots",
    "CVDisplay": "plots",
    "CheckpointNotWrittenWarning": "search",
    "ConvergenceDisplay": "plots",
    "CopiesWarning": "estimators",
    "Core": "cores",
    "CoreDisplay": "plots",
    "EndedEarlyWarning": "estimators",
    "Estimate": "estimation",
    "GridEdgeWarning": "estimators",
    "L0LogisticRegression": "estimators",
    "L0LogisticRegressionCV": "estimators",
    "L0Path": "path",
    "OneClassWarning": "estimators",
    "PathDisplay": "plots",
    "Problem": "problem",
    "ProofNotWrittenWarning": "search",
    "Relaxation": "relaxation",
    "SafeScreener": "estimators",
    "ScaleWarning": "estimators",
    "Screening": "screening",
    "ScreeningDisplay": "plots",
    "Selection": "estimators",
    "Solution": "search",
    "Stability": "stability",
    "StabilityDisplay": "plots",
    "Status": "status",
    "Summary": "summary",
    "Verification": "verification",
    "alternatives": "good_models",
    "core": "cores",
    "datasets": "",
    "l0_path": "path",
    "load_model": "saving.model_files",
    "relax": "relaxation",
    "report": "reporting",
    "save_model": "saving.model_files",
    "screen": "search",
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
