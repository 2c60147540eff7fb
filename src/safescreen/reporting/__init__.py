"""A result as one web page that needs nothing but a browser: for colleagues, appendices and the record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safescreen.cores import Core
    from safescreen.estimation import Estimate
    from safescreen.estimators import L0LogisticRegression
    from safescreen.good_models import Alternatives
    from safescreen.path import L0Path
    from safescreen.search.solution import Solution


def report(
    result: Solution | L0LogisticRegression | L0Path | Alternatives | Core,
    path: str | os.PathLike[str] | None = None,
    *,
    estimate: Estimate | None = None,
    test: tuple[Any, Any] | None = None,
    proof: str | os.PathLike[str] | None = None,
    core: Core | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    check: str | None = None,
) -> str:
    """Make a self-contained HTML page of a result.

    The page says in plain words what was asked, what the answer is and what is proved about it; it shows coefficients
    and odds ratios, the margin by which each feature was ruled out, and how the search went. Where coefficients were
    estimated at another ridge than that of the choice, they are the model on the page, and the proof is said to be
    about the choice. It needs no network, and
    no personal data but what is in names and labels goes into it.

    Parameters
    ----------
    result : Solution, L0LogisticRegression, L0LogisticRegressionCV, L0Path, Alternatives or Core
        What :func:`solve`, :func:`l0_path`, :func:`alternatives` or :func:`core` returned, or a fitted estimator. Of
        alternatives the page has the best model in detail, and a section on all others; prices that take searches are
        found for it. Of a core it has the model that it was measured against, and a section on the core.
    path : str or path-like, optional
        Where to write the page; an existing file is replaced, and never left half-written.
    estimate : Estimate, optional
        Of a Solution, its coefficients as estimated at another ridge; estimators and paths have their own.
    test : tuple (X, y), optional
        Held-out data: adds scores, the ROC curve and calibration.
    proof : str or path-like, optional
        A proof file: adds its fingerprint and how to check it. The proof itself is not checked here.
    core : Core, optional
        What all good models of the same problem use: adds a section. Cores of other tolerances are found for its curve.
    title : str, optional
        Title of the page.
    notes : sequence of str
        What was done to the data before, in sentences for the page.
    check : str, optional
        The command that checks the proof, in place of one with made-up names.

    Returns
    -------
    str
        The page. A notebook shows it as a link to the file, or without a file in a frame, and a prompt as one line.

    Raises
    ------
    TypeError
        If `result` is something else.
    ValueError
        If `estimate` is given for anything but a Solution, if `core` is that of another problem or was measured
        against a number and is all there is, if an estimator was copied or loaded and thus lacks its
        training data, if `test` does not fit the model, or if
        `proof` is no proof file or that of another model.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 50, 3, 1.0, random_state=0)
    >>> page = ss.report(ss.solve(ss.Problem(X, y, k=3)))
    >>> page.startswith("<!doctype html>")
    True
    """
    from dataclasses import replace

    from safescreen.files import write_whole
    from safescreen.reporting.content.subject import subject_of
    from safescreen.reporting.notebook import Page
    from safescreen.reporting.page import page_of

    page = page_of(replace(subject_of(result, test, proof, estimate, core), notes=tuple(notes), check=check), title)
    if path is not None:
        with write_whole(path) as temporary:
            temporary.write_text(page, encoding="utf-8", newline="\n")
    return Page(page, path)
