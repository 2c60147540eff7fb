"""Good models for other programs: one document with the question, the answer and what is proved of it."""

from __future__ import annotations

from typing import Any

from safescreen import __version__
from safescreen.formatting.documents import plain
from safescreen.good_models.frames import of_exchanges, of_features, of_models, of_samples
from safescreen.good_models.result import GoodModels

FORMAT = "safescreen-alternatives"
VERSION = 1
"""Raised whenever a reader of the previous version would misread a document."""


def document(found: GoodModels) -> dict[str, Any]:
    """Everything, the question included."""
    problem = found.problem
    terms = problem.asked.asdict()
    decided = {name: problem.names(terms[name]) for name in ("include", "exclude")}
    opening = {
        "format": FORMAT,
        "version": VERSION,
        "safescreen": __version__,
        "classes": problem.classes,
        "positive_class": problem.positive_class,
        "terms": {**terms, **decided, "copies": "one" if problem.one_of_copies else "allow"},
        "n_samples": problem.n_samples,
        "n_features": problem.n_features,
    }
    answered: dict[str, Any] = plain({**opening, **answer(found)})
    return answered


def answer(found: GoodModels) -> dict[str, Any]:
    """What was found and what is proved of it."""
    wish, best, names = found.wish, found.best, found.problem.names
    chosen = zip(names(best.support), best.support.tolist(), best.coef[best.support].tolist(), strict=True)
    return {
        "wish": {"within": wish.within, "n_best": wish.n_best, "max_models": wish.most},
        **{name: getattr(found, name) for name in ("status", "complete", "minimal")},
        "n_models": len(found),
        **{name: getattr(found, name) for name in ("threshold", "missing_bound", "nodes", "seconds")},
        "best": {
            **{name: getattr(best, name) for name in ("objective", "lower_bound", "gap", "intercept")},
            "features": [{"name": name, "index": j, "coefficient": value} for name, j, value in chosen],
        },
        **{name: getattr(found, name) for name in ("always", "sometimes", "never", "undecided")},
        "features": _named(found),
        "models": of_models(found).to_dict("records"),
        "exchanges": of_exchanges(found).to_dict("records"),
        "exchanges_complete": found.exchanges_complete,
        "samples": of_samples(found).to_dict("list"),
    }


def _named(found: GoodModels) -> list[dict[str, Any]]:
    """The table of features with their names, which pandas would not hold in a column whatever they are."""
    frame = of_features(found, None)
    return [{"name": name, **row} for name, row in zip(frame.index, frame.to_dict("records"), strict=True)]
