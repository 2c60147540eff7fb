"""The end of a page: the proof and how to check it, parameters, versions, how to cite."""

from __future__ import annotations

import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from safescreen import __version__
from safescreen.formatting.escaping import escaped, shortened
from safescreen.problem import Problem
from safescreen.reporting import markup as html
from safescreen.reporting.content import sentences
from safescreen.reporting.content.subject import Subject

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
_FORMULA = "min  Σ wᵢ log(1 + exp(−yᵢ(aᵢ·x + b))) + ‖x‖²/γ + μ‖x‖₀   subject to  ‖x‖₀ ≤ k"


def proof_section(subject: Subject) -> str:
    """The proof's fingerprint and how to check it, or how to get a proof."""
    proof = subject.proof
    if proof is None:
        return html.section("proof", "The proof", html.filled("no_proof.html"))
    fingerprints = {f"SHA-256 of {proof.name}": proof.sha256}
    fingerprints |= {f"Fingerprint of the {part}": digest for part, digest in proof.fingerprint.items()}
    body = html.filled(
        "proof.html",
        size=f"{proof.size:,}",
        fingerprints=html.fact_table(fingerprints, "fingerprints"),
        claims=html.fact_table(proof.claims, "claims"),
        command=html.code(f"safescreen verify {shlex.quote(proof.name)} data.csv --target label"),
        statement=html.code(f"import safescreen as ss\n\nprint(ss.verify({proof.name!r}, X, y))"),
    )
    return html.section("proof", "The proof", body)


def details_section(subject: Subject) -> str:
    """Parameters, versions and citation."""
    parts = ["<h3>Problem</h3>", html.paragraph(_FORMULA, "formula")]
    parts += [html.fact_table(_problem_facts(subject.problem), "parameters")]
    if subject.estimator is not None:
        facts = {"class": type(subject.estimator).__name__, **subject.estimator.get_params(deep=False)}
        parts += ["<h3>Estimator</h3>", html.fact_table(facts, "estimator")]
    parts += ["<h3>Versions</h3>", html.fact_table(_versions(), "versions")]
    parts += ["<h3>How to cite</h3>", html.filled("citation.html", version=escaped(__version__))]
    return html.section("details", "Details", *parts)


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
    found = {"safescreen": __version__, "Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # vendored without metadata
            continue
    return {**found, "platform": f"{platform.system()} {platform.machine()}"}
