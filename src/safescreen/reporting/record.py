"""The end of a page: the proof and how to check it, parameters, versions, how to cite."""

from __future__ import annotations

import os
import platform
import shlex
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import safescreen.reporting.words as words
from safescreen import __version__
from safescreen.problem import Problem

from .digits import counted
from .escaping import escaped, shortened
from .markup import code, fact_table, paragraph, section
from .proofs import Proof
from .subject import Subject

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
_PAPER = "https://arxiv.org/abs/2202.00467"


def proof_section(subject: Subject, proof: Proof | None) -> str:
    """The proof's fingerprint and how to check it, or how to get a proof."""
    if proof is None:
        return section(
            "proof",
            "The proof",
            paragraph(
                "No proof file comes with this report; its statements rest on the solver. A proof that others can "
                "check without the solver is written along with the search:"
            ),
            code(
                'solution = ss.solve(problem, proof="proof.npz")\nss.report(solution, "report.html", proof="proof.npz")'
            ),
        )
    fingerprints = {f"SHA-256 of {proof.name}": proof.sha256}
    fingerprints |= {f"Fingerprint of the {part}": digest for part, digest in proof.fingerprint.items()}
    return section(
        "proof",
        "The proof",
        paragraph(
            f"A proof of {proof.size:,} bytes comes with this report. It can be checked against the data, by a program "
            "that shares no code with the solver and only evaluates formulas."
        ),
        fact_table(fingerprints, "fingerprints"),
        paragraph("It claims:"),
        fact_table(proof.claims, "claims"),
        paragraph("To check it, with the file of the data and the name of its label column:"),
        code(f"safescreen verify {shlex.quote(proof.name)} data.csv --target label"),
        paragraph("Or in Python, with the data as they were given to the solver:"),
        code(f"import safescreen as ss\n\nprint(ss.verify({proof.name!r}, X, y))"),
    )


def details_section(subject: Subject) -> str:
    """Parameters, versions and citation."""
    parts = [
        "<h3>Problem</h3>",
        paragraph("min  Σ wᵢ log(1 + exp(−yᵢ(aᵢ·x + b))) + ‖x‖²/γ + μ‖x‖₀   subject to  ‖x‖₀ ≤ k", "formula"),
        fact_table(_problem_facts(subject.problem), "parameters"),
    ]
    if subject.estimator is not None:
        parts += ["<h3>Estimator</h3>", fact_table(_estimator_facts(subject), "estimator")]
    parts += ["<h3>Versions</h3>", fact_table(_versions(), "versions"), "<h3>How to cite</h3>", _citation()]
    return section("details", "Details", *parts)


def _problem_facts(problem: Problem) -> dict[str, Any]:
    positive = int((problem.y > 0.0).sum())
    weighted = bool((problem.weights != problem.weights[0]).any())
    facts: dict[str, Any] = {
        "samples": f"{problem.n_samples:,}, of which {positive:,} are {words.label(problem, 1)} and "
        f"{problem.n_samples - positive:,} {words.label(problem, 0)}",
        "features": f"{problem.n_features:,}",
        "budget k": f"{problem.k:,}" if words.has_budget(problem) else "no limit",
        "price μ": f"{problem.mu!r}" if problem.mu > 0.0 else "none",
        "ridge parameter γ": f"{problem.gamma!r}",
        "intercept": "fitted, without penalty" if problem.fit_intercept else "none",
        "standardised": "yes: centred, unit variance" if problem.standardize else "no",
        "sample weights": "individual" if weighted else "equal",
    }
    for key, features in (("required", problem.include), ("excluded", problem.exclude)):
        if features.size:
            shown = ", ".join(shortened(name, 60) for name in problem.names(features[:20]))
            facts[key] = shown + (f" and {features.size - 20:,} more" if features.size > 20 else "")
    return facts


def _estimator_facts(subject: Subject) -> dict[str, Any]:
    assert subject.estimator is not None
    return {"class": type(subject.estimator).__name__, **subject.estimator.get_params(deep=False)}


def _versions() -> dict[str, str]:
    found = {"safescreen": __version__, "Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # vendored without metadata
            continue
    return {**found, "platform": f"{platform.system()} {platform.machine()}"}


def moment() -> datetime:
    """When the page is made; reproducible builds set it by SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)


def _citation() -> str:
    software = (
        "The safescreen developers. safescreen: provably optimal sparse logistic regression with safe screening, "
        f"version {__version__}."
    )
    return (
        f"<p>{escaped(software)}</p><p>The screening rules: A. Deza and A. Atamtürk. Safe Screening for Logistic "
        f'Regression with ℓ0–ℓ2 Regularization. 2022. <a href="{_PAPER}" rel="noreferrer">arXiv:2202.00467</a></p>'
        + code(
            "@misc{safescreen,\n"
            "  author = {{The safescreen developers}},\n"
            "  title  = {safescreen: provably optimal sparse logistic regression with safe screening},\n"
            f"  note   = {{Version {__version__}}}\n"
            "}\n"
            "@misc{deza2022safe,\n"
            '  author = {Deza, Anna and Atamt{\\"u}rk, Alper},\n'
            "  title  = {Safe Screening for Logistic Regression with $\\ell_0$-$\\ell_2$ Regularization},\n"
            "  year   = {2022},\n"
            "  eprint = {2202.00467},\n"
            "  archivePrefix = {arXiv}\n"
            "}"
        )
    )


def samples_and_features(problem: Problem) -> str:
    """The data in a few words, for the page's head."""
    return f"{counted(problem.n_samples, 'sample')}, {counted(problem.n_features, 'feature')}"
