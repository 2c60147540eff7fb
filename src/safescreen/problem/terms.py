"""The terms of a problem: everything about it but the data, declared once.

A term is a field of `Terms` with its default, its check and its wording. Whatever shows, stores or proves a problem
iterates over the fields, so that a new term is added here and appears everywhere. Those who ask for terms by keyword
(`Problem`, the estimators, the command line) name them in their signatures; a test compares these with the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from safescreen.problem.frames import Names
from safescreen.problem.validation import (
    check_budget,
    check_decisions,
    check_features,
    check_flag,
    check_gamma,
    check_price,
    check_selection,
)

Features = int | str | Iterable[int | str]


class _Wording(NamedTuple):
    """How a term is checked and told."""

    check: Callable[[Any], Any]
    title: str  # what the term is called beside its value in a table
    value: Callable[[Any], str]  # the value there; an empty one leaves the line out
    phrase: Callable[[Terms], str]  # the term in a sentence; an empty one leaves it out


def _told(
    check: Callable[[Any], Any],
    title: str,
    value: Callable[[Any], str],
    phrase: Callable[[Terms], str],
) -> dict[str, _Wording]:
    """What a field carries beside its default."""
    return {"wording": _Wording(check, title, value, phrase)}


def _flag(name: str, title: str, yes: str, no: str) -> dict[str, _Wording]:
    """A term that holds or does not."""
    return _told(
        lambda flag: check_flag(name, flag),
        title,
        lambda flag: "yes" if flag else "no",
        lambda terms: yes if getattr(terms, name) else no,
    )


def _decision(name: str, title: str, participle: str) -> dict[str, _Wording]:
    """Features decided beforehand."""
    return _told(
        lambda features: check_selection(name, features),
        title,
        _counted,
        lambda terms: f"{_counted(getattr(terms, name))} {participle}" if getattr(terms, name) else "",
    )


def _exact(number: float) -> str:
    """All digits that matter, and no more."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def _counted(features: tuple[Any, ...]) -> str:
    if not features:
        return ""
    return "1 feature" if len(features) == 1 else f"{len(features):,} features"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is asked of the data: price, budget, ridge, intercept, scaling and features decided beforehand.

    Parameters
    ----------
    mu : float, optional
        Price of a feature, at least 0. Without it a feature is free.
    k : int, optional
        Budget of features, at least 1. Without it there is no limit.
    gamma : float, default 1.0
        Ridge parameter, positive.
    fit_intercept : bool, default True
        Whether there is an unpenalised intercept.
    standardize : bool, default True
        Whether features are centred and scaled to unit variance.
    include, exclude : feature or iterable of features, optional
        Features decided beforehand, by index or by name.

    Raises
    ------
    ValueError, TypeError
        One sentence that names the argument, the value and what is allowed.

    Examples
    --------
    >>> from safescreen.problem.terms import Terms
    >>> Terms(k=3, gamma=10).describe()
    'k=3, gamma=10, with intercept, standardised'
    """

    mu: float | None = field(
        default=None,
        metadata=_told(
            lambda mu: None if mu is None else check_price(mu),
            "price μ",
            lambda mu: _exact(mu) if mu else "none",
            lambda terms: f"mu={terms.mu:g}" if terms.mu or terms.k is None else "",
        ),
    )
    k: int | None = field(
        default=None,
        metadata=_told(
            check_budget,
            "budget k",
            lambda k: "no limit" if k is None else f"{k:,}",
            lambda terms: "" if terms.k is None else f"k={terms.k}",
        ),
    )
    gamma: float = field(
        default=1.0,
        metadata=_told(check_gamma, "ridge γ", _exact, lambda terms: f"gamma={terms.gamma:g}"),
    )
    fit_intercept: bool = field(
        default=True,
        metadata=_flag("fit_intercept", "intercept", "with intercept", "without intercept"),
    )
    standardize: bool = field(
        default=True,
        metadata=_flag("standardize", "standardised", "standardised", "not standardised"),
    )
    include: Features = field(default=(), metadata=_decision("include", "required", "included"))
    exclude: Features = field(default=(), metadata=_decision("exclude", "excluded", "excluded"))

    def __post_init__(self) -> None:
        if self.mu is None and self.k is None:
            raise ValueError("mu and k are both None, but a price mu >= 0, a budget k >= 1 or both are needed.")
        for name, wording in self._wordings():
            object.__setattr__(self, name, wording.check(getattr(self, name)))

    @classmethod
    def names(cls) -> list[str]:
        """All terms, in the order in which they are told."""
        return [one.name for one in fields(cls)]

    def asdict(self) -> dict[str, Any]:
        """All terms and their values: numbers, flags, and tuples of features."""
        return {name: getattr(self, name) for name in self.names()}

    def with_changes(self, **changes: Any) -> Terms:
        """The same terms but for those given with a value other than None."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    def for_data(self, n_features: int, names: Names | None) -> Terms:
        """The same terms with features as indices, and no budget beyond the features there are."""
        include = check_features("include", self.include, n_features, names)
        exclude = check_features("exclude", self.exclude, n_features, names)
        check_decisions(include, exclude, self.k)
        budget = None if self.k is None else min(self.k, n_features)
        return replace(self, k=budget, include=tuple(include.tolist()), exclude=tuple(exclude.tolist()))

    def describe(self, without: str = "") -> str:
        """The terms in words, but for one that varies."""
        phrases = [wording.phrase(self) for name, wording in self._wordings() if name != without]
        return ", ".join(phrase for phrase in phrases if phrase)

    def facts(self) -> list[tuple[str, str]]:
        """Title and value of each term, for tables."""
        told = [(wording.title, wording.value(getattr(self, name))) for name, wording in self._wordings()]
        return [(title, value) for title, value in told if value]

    def _wordings(self) -> list[tuple[str, _Wording]]:
        return [(one.name, one.metadata["wording"]) for one in fields(self)]
