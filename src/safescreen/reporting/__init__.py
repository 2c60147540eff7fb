"""A result as one web page that needs nothing but a browser: for colleagues, appendices and the record."""

from __future__ import annotations

import base64
import hashlib
import os
import uuid
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safescreen.estimators import L0LogisticRegression
    from safescreen.path import L0Path
    from safescreen.solution import Solution


def report(
    result: Solution | L0LogisticRegression | L0Path,
    path: str | os.PathLike[str] | None = None,
    *,
    test: tuple[Any, Any] | None = None,
    proof: str | os.PathLike[str] | None = None,
    title: str | None = None,
) -> str:
    """Make a self-contained HTML page of a result.

    The page says in plain words what was asked, what the answer is and what is proved about it; it shows coefficients
    and odds ratios, the margin by which each feature was ruled out, and how the search went. It needs no network, and
    no personal data but what is in names and labels goes into it.

    Parameters
    ----------
    result : Solution, L0LogisticRegression, L0LogisticRegressionCV or L0Path
        What :func:`solve` or :func:`l0_path` returned, or a fitted estimator.
    path : str or path-like, optional
        Where to write the page; an existing file is replaced, and never left half-written.
    test : tuple (X, y), optional
        Held-out data: adds scores, the ROC curve and calibration.
    proof : str or path-like, optional
        A proof file: adds its fingerprint and how to check it. The proof itself is not checked here.
    title : str, optional
        Title of the page.

    Returns
    -------
    str
        The page.

    Raises
    ------
    TypeError
        If `result` is something else.
    ValueError
        If an estimator was copied or loaded and thus lacks its training data, if `test` does not fit the model, or if
        `proof` is no proof file or that of another model.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 50, 3, 1.0, random_state=0)
    >>> page = ss.report(ss.solve(ss.Problem(X, y, k=3)))
    >>> page.startswith("<!doctype html>")
    True
    """
    from .heldout import evaluated
    from .proofs import check_belongs, read_proof
    from .subject import subject_of

    subject = subject_of(result)
    solutions = [subject.solution] if subject.path is None else list(subject.path)
    scores = None if test is None else [evaluated(solution, test) for solution in solutions]
    found = None if proof is None else read_proof(proof)
    if found is not None:
        check_belongs(found, solutions)
    page = _page(subject, scores, found, title)
    if path is not None:
        _write(Path(path), page)
    return page


def _page(subject: Any, scores: Any, proof: Any, title: str | None) -> str:
    """All sections in their order, put into the template."""
    import safescreen.reporting.words as words
    from safescreen import __version__
    from safescreen.formatting.escaping import escaped, script_json

    from .answer import answer_section, question_html
    from .course import search_section
    from .features import features_data, features_section
    from .grids import grid_section
    from .heldout_charts import heldout_section
    from .paths import path_section
    from .record import details_section, moment, proof_section, samples_and_features
    from .subject import most_permissive

    focus = None
    if scores is not None:
        focus = scores[0] if subject.path is None else scores[most_permissive(subject.path)]
    sections = [
        path_section(subject, scores),
        answer_section(subject),
        grid_section(subject.search),
        features_section(subject),
        search_section(subject.solution),
        heldout_section(subject, focus) if focus is not None else "",
        proof_section(subject, proof),
        details_section(subject),
    ]
    script, now = _file("page.js"), moment()
    return Template(_file("page.html")).substitute(
        title=escaped(words.title(subject) if title is None else title),
        version=escaped(__version__),
        data_set=escaped(samples_and_features(subject.problem)),
        date=f"{now.day} {now:%B %Y}",
        timestamp=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        style=_file("page.css"),
        question=question_html(subject),
        sections="\n".join(section for section in sections if section),
        data=script_json(features_data(subject)),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _file(name: str) -> str:
    """One of the page's ingredients, which lie next to this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    """Write next to the target and rename, so that no reader ever sees half a page."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
