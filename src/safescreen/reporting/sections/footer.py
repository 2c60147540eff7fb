"""The end of a page: the proof and how to check it, parameters, versions, how to cite."""

from __future__ import annotations

import platform
import shlex
from typing import Any

import numba
import numpy
import scipy
import sklearn

import safescreen.reporting.markup as html
from safescreen import __version__
from safescreen.formatting.escaping import escaped, shortened
from safescreen.problem import Problem
from safescreen.reporting.content import sentences
from safescreen.reporting.content.subject import Subject

_FORMULA = "min  Σ wᵢ log(1 + exp(−yᵢ(aᵢ·x + b))) + ‖x‖²/γ + μ‖x‖₀   subject to  ‖x‖₀ ≤ k"


def section(subject: Subject) -> str:
    """The proof, and the details."""
    proof = html.section("proof", "The proof", _proof(subject))
    return html.joined((proof, html.section("details", "Details", *_details(subject))))


def _proof(subject: Subject) -> str:
    """The proof's fingerprint and how to check it, or how to get a proof."""
    proof = subject.proof
    if proof is None:
        return html.filled("no_proof.html")
    fingerprints = {f"SHA-256 of {proof.name}": proof.sha256}
    fingerprints |= {f"Fingerprint of the {part}": digest for part, digest in proof.fingerprint.items()}
    return html.filled(
        "proof.html",
        size=f"{proof.size:,}",
        fingerprints=html.fact_table(fingerprints, "fingerprints"),
        claims=html.fact_table(proof.claims, "claims"),
        file=escaped(shlex.quote(proof.name)),
        literal=escaped(repr(proof.name)),
    )


def _details(subject: Subject) -> list[str]:
    """Parameters, versions and citation."""
    parts = ["<h3>Problem</h3>", html.paragraph(_FORMULA, "formula")]
    parts += [html.fact_table(_problem_facts(subject.problem), "parameters")]
    if subject.estimator is not None:
        facts = {"class": type(subject.estimator).__name__, **subject.estimator.get_params(deep=False)}
        parts += ["<h3>Estimator</h3>", html.fact_table(facts, "estimator")]
    parts += ["<h3>Versions</h3>", html.fact_table(_versions(), "versions")]
    return [*parts, "<h3>How to cite</h3>", html.filled("citation.html", version=escaped(__version__))]


def _problem_facts(problem: Problem) -> dict[str, Any]:
    positive = int((problem.y > 0.0).sum())
    classes = (
        f"{positive:,} are {sentences.label(problem, 1)} and "
        f"{problem.n_samples - positive:,} {sentences.label(problem, 0)}"
    )
    facts: dict[str, Any] = {
        "samples": f"{problem.n_samples:,}, of which {classes}",
        "features": f"{problem.n_features:,}",
        "budget k": f"{problem.k:,}" if sentences.has_budget(problem) else "no limit",
        "price μ": f"{problem.mu!r}" if problem.mu > 0.0 else "none",
        "ridge parameter γ": f"{problem.gamma!r}",
        "intercept": "fitted, without penalty" if problem.fit_intercept else "none",
        "standardised": "yes: centred, unit variance" if problem.standardize else "no",
        "sample weights": "individual" if sentences.is_weighted(problem) else "equal",
    }
    for key, features in (("required", problem.include), ("excluded", problem.exclude)):
        if features.size:
            shown = ", ".join(shortened(name, 60) for name in problem.names(features[:20]))
            facts[key] = shown + (f" and {features.size - 20:,} more" if features.size > 20 else "")
    return facts


def _versions() -> dict[str, str]:
    return {
        "safescreen": __version__,
        "Python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
    }
