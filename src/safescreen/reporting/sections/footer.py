"""The end of a page: the proof and how to check it, parameters, versions, how to cite."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import zipfile
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy
import sklearn

import safescreen.reporting.markup as html
from safescreen import __version__
from safescreen.formatting.escaping import escaped, shortened
from safescreen.problem import Problem
from safescreen.reporting.content import sentences
from safescreen.reporting.content.subject import Subject

_LIBRARIES = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn, "numba": numba}
_LONGEST_NOTE = 600  # characters
_NOT_HASHED = "none: there was no time to compute it; the proof is checked against the data given"
_SAME = 1e-9  # relative difference of objectives that rounding explains


def section(subject: Subject) -> str:
    """What was done to the data, the proof, and the details."""
    told = "".join(f"<li>{escaped(shortened(note, _LONGEST_NOTE))}</li>" for note in subject.notes)
    data = html.section("data", "What was done to the data", f"<ul>{told}</ul>") if told else ""
    proof = html.section("proof", "The proof", _proof(subject))
    return html.joined((data, proof, html.section("details", "Details", _details(subject))))


def _proof(subject: Subject) -> str:
    """The proof's fingerprint and how to check it, or how to get a proof."""
    if subject.proof is None:
        return html.filled("no_proof.html")
    file = Path(subject.proof)
    content = file.read_bytes()
    fingerprint, claims = _header(file)
    _check_belongs(file, claims, [solution.objective for solution in subject.solutions])
    checksums = {f"SHA-256 of {file.name}": hashlib.sha256(content).hexdigest()}
    checksums |= {f"Fingerprint of the {part}": digest or _NOT_HASHED for part, digest in fingerprint.items()}
    choice = f"The proof is about the choice of features at γ = {subject.problem.gamma:g}, not about the estimates."
    return html.filled(
        "proof.html",
        about=html.paragraph(choice) if subject.two_ridges else "",
        size=f"{len(content):,}",
        fingerprints=html.fact_table(checksums, "fingerprints"),
        claims=html.fact_table(claims, "claims"),
        how=_how_to_check(subject.check, file),
        literal=escaped(repr(file.name)),
    )


def _how_to_check(command: str | None, file: Path) -> str:
    """The command, where it is known which; otherwise what it looks like."""
    lead = "To check it:" if command else "To check it, with the file of the data and the name of its label column:"
    command = command or f"safescreen verify {shlex.quote(file.name)} data.csv --target label"
    return f"{html.paragraph(lead)}\n<pre><code>{escaped(command)}</code></pre>"


def _header(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fingerprints of the data and claims about the model; the proof itself is not checked here."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
        return dict(header["fingerprint"]), dict(header["claims"])
    except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"proof is {str(file)!r}, which is no proof file ({type(error).__name__}: {error}): give the file that "
            "solve(..., proof=...) wrote."
        ) from None


def _check_belongs(file: Path, claims: dict[str, Any], objectives: list[float]) -> None:
    """Refuse the proof of another model: printed next to this one, it would mislead."""
    claimed = claims.get("objective")
    if isinstance(claimed, int | float) and not np.isclose(claimed, objectives, rtol=_SAME, atol=0.0).any():
        raise ValueError(
            f"proof is {file.name!r}, which claims an objective of {claimed:.9g}, but that of the result is "
            f"{objectives[-1]:.9g}: give the proof of this result."
        )


def _details(subject: Subject) -> str:
    """Parameters, versions and citation."""
    estimator = ""
    if subject.estimator is not None:
        facts = {"class": type(subject.estimator).__name__, **subject.estimator.get_params(deep=False)}
        estimator = f"<h3>Estimator</h3>{html.fact_table(facts, 'estimator')}"
    return html.filled(
        "details.html",
        problem=html.fact_table(_problem_facts(subject), "parameters"),
        estimator=estimator,
        versions=html.fact_table(_versions(), "versions"),
        version=escaped(__version__),
    )


def _problem_facts(subject: Subject) -> dict[str, Any]:
    problem = subject.problem
    positive = int((problem.y > 0.0).sum())
    classes = f"{positive:,} are {sentences.label(problem, 1)}"
    classes += f" and {problem.n_samples - positive:,} {sentences.label(problem, 0)}"
    facts: dict[str, Any] = {
        "samples": f"{problem.n_samples:,}, of which {classes}",
        "modelled": f"probability of {sentences.label(problem, 1)}",
        "features": f"{problem.n_features:,}",
        **dict(problem.asked.facts()),
        "sample weights": "individual" if sentences.is_weighted(problem) else "equal",
    }
    if subject.two_ridges:
        facts["ridge γ of the estimates"] = f"{subject.model.gamma:g}"
    excluded = np.array(problem.asked.exclude, dtype=np.int64)
    facts["copies"] = _copies(problem)
    for key, features in (("required", problem.include), ("excluded", excluded)):
        if key in facts:  # their names say more than their number
            shown = ", ".join(shortened(name, 60) for name in problem.names(features[:20]))
            facts[key] = shown + (f" and {features.size - 20:,} more" if features.size > 20 else "")
    return facts


def _copies(problem: Problem) -> str:
    """What holds for columns that are copies of one another."""
    if not problem.one_of_copies:
        return "may be chosen like any other feature"
    return f"{problem.left_out.size:,} left out" if problem.left_out.size else "none found"


def _versions() -> dict[str, str]:
    libraries = {name: library.__version__ for name, library in _LIBRARIES.items()}
    system = f"{platform.system()} {platform.machine()}"
    return {"safescreen": __version__, "Python": platform.python_version(), **libraries, "platform": system}
