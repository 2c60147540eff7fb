"""`Alternatives`: all good models, as sentences, tables and documents."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from safescreen.files import write_whole
from safescreen.formatting.documents import json_text
from safescreen.good_models.documents import document
from safescreen.good_models.frames import of_exchanges, of_features, of_models, of_samples
from safescreen.good_models.result import GoodModels
from safescreen.good_models.telling import card, describe, in_one_line

if TYPE_CHECKING:
    import pandas as pd

_FRAMES = ("features", "models", "samples", "exchanges")


class Alternatives(GoodModels):
    """Every model that is as good as the best one, up to a tolerance.

    Made by :func:`safescreen.alternatives`. With a budget alone, where more features never hurt, the models are the
    *minimal* ones: none of their features can be left out without leaving the set, and every model of the set contains
    one of them.

    Attributes
    ----------
    problem : Problem
        The problem.
    wish : Wish
        What was asked for: ``within``, ``n_best`` and the limit on models.
    settings : Settings
        How far to go; its time limit also holds for prices and exchanges, each time they are asked for first.
    listed : Listed
        What the search has found, as it found it.
    progress : bool
        Whether searches for prices say on standard error where they stand.
    """

    def describe(self) -> str:
        """How many models there are, within what, what is proved of that, and what they say of the features.

        Examples
        --------
        >>> import safescreen as ss
        >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 20, 3, 1.0, random_state=0)
        >>> print(ss.alternatives(ss.Problem(X, y, k=3), n_best=10).describe())
        The 10 models with the smallest objective, ... Proved: no other is better. Of 20 features, ...
        """
        return describe(self)

    def __repr__(self) -> str:
        return in_one_line(self)

    def _repr_html_(self) -> str:
        return card(self)

    def to_frame(self, of: str = "features", *, price_with: bool | None = None) -> pd.DataFrame:
        """One of four tables.

        Parameters
        ----------
        of : {"features", "models", "samples", "exchanges"}, default "features"
            What the rows are. Prices and exchanges are found when first asked for. Where only minimal models are
            listed, each feature of the best model takes a search then, all together at most the time limit.
        price_with : bool, optional
            Whether the features have the price of being forced to take them. By default only where a complete list of
            all models has it: otherwise each takes a search of its own.

        Returns
        -------
        DataFrame
            Features of the listed models and of the best one, the most frequent first: ``index``, ``share`` of the
            models that have it, ``lowest`` and ``highest`` coefficient there, ``price_without`` and
            ``price_without_bound`` (between which the price of doing without it lies, in units of the objective),
            ``in_best``.

            Models, the best first: ``objective``, ``excess`` over the best relative to it, ``size``, ``features`` by
            name, ``coefficients``, ``intercept``, ``indices``.

            Samples: ``probability`` by the best model, ``lowest`` and ``highest`` by any, and the share of models that
            predict the other class, ``share_other``.

            Exchanges, the cheapest first: a ``feature`` of the best model, the one it can be ``replaced_by``, and the
            ``cost`` relative to the best objective.
        """
        if of not in _FRAMES:
            raise ValueError(f"of is {of!r}, but must be one of {', '.join(map(repr, _FRAMES))}.")
        if of == "features":
            return of_features(self, price_with)
        return {"models": of_models, "samples": of_samples, "exchanges": of_exchanges}[of](self)

    def to_dict(self) -> dict[str, Any]:
        """Question, answer and what is proved, in plain lists and dicts; None stands for numbers that JSON lacks."""
        return document(self)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The same as JSON.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write it; an existing file is replaced, and never left half-written.

        Returns
        -------
        str
            The text.
        """
        text = json_text(self.to_dict())
        if path is not None:
            with write_whole(path) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="\n")
        return text
