"""All sections in their order, put into the page's template."""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import UTC, datetime

from safescreen import __version__
from safescreen.formatting.digits import counted
from safescreen.formatting.escaping import escaped, script_json
from safescreen.reporting.content import sentences
from safescreen.reporting.content.subject import Subject
from safescreen.reporting.markup import filled, ingredient, joined, paragraph
from safescreen.reporting.sections import answer, cores, features, footer, good_models, grid, held_out, path, search

_SECTIONS = (path, answer, good_models, cores, grid, features, search, held_out, footer)


def page_of(subject: Subject, title: str | None = None) -> str:
    """The page, complete in itself."""
    problem, script, now = subject.problem, ingredient("page.js"), _now()
    return filled(
        "page.html",
        title=escaped(sentences.title(subject) if title is None else title),
        version=escaped(__version__),
        data_set=f"{counted(problem.n_samples, 'sample')}, {counted(problem.n_features, 'feature')}",
        date=f"{now.day} {now:%B %Y}",
        timestamp=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        style=ingredient("page.css"),
        question=paragraph(sentences.question(subject), "question"),
        meaning=paragraph(sentences.meaning_of_best(subject), "quiet"),
        sections=joined(part.section(subject) for part in _SECTIONS),
        data=script_json(features.embedded(subject)),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _now() -> datetime:
    """When the page is made; reproducible builds set it by SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
