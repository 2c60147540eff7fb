"""Good models in sentences, in one line and as a card, for people who will ask what exactly is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from safescreen.formatting.cards import table_card
from safescreen.formatting.digits import counted, duration, percent_above, percent_below, percent_of, signed
from safescreen.formatting.escaping import shortened
from safescreen.good_models.result import GoodModels

MINIMAL = (
    "Minimal means that none of its features can be left out: with a budget alone more features never hurt, so that "
    "supersets of these models are as good, and not listed."
)
_MOST_ROWS, _MOST_EXCHANGES = 20, 3
_LONGEST_NAME = 40
_PATIENCE = 3.0
"""Seconds that a notebook waits for prices, and again for exchanges, that nobody has asked for before."""


def describe(found: GoodModels) -> str:
    """What was found, how far it is proved, and what it says of the features."""
    sentences = [_models(found)]
    if found.minimal:
        sentences.append(MINIMAL)
        if len(found) and not _is_listed(found):
            sentences.append("The best model has features to spare, and so is not listed itself.")
    if not found.complete:
        sentences.append(_missing(found))
    return " ".join([*sentences, *_features(found)])


def kind(found: GoodModels) -> str:
    """How many models of which kind, as a title has it."""
    return counted(len(found), "minimal model" if found.minimal else "model")


def scope(found: GoodModels) -> str:
    """Which models were asked for: all within a tolerance, the best so many, or both."""
    within, n_best = found.wish.within, found.wish.n_best
    close = "" if within is None else f"within {100.0 * within:g}\u00a0% of the best"
    if n_best is None:
        return close
    return f"among the {n_best:,} best{' and ' if close else ''}{close}"


def in_one_line(found: GoodModels) -> str:
    """What a prompt shows."""
    state = "complete" if found.complete else f"not complete ({found.status})"
    parts = [f"{found.always.size:,} in all, {found.sometimes.size:,} in some, {found.never.size:,} in none"]
    if found.undecided.size:
        parts.append(f"{found.undecided.size:,} undecided")
    return f"Alternatives({kind(found)} {scope(found)}, {state}; features: {', '.join(parts)})".replace("\u00a0", " ")


def card(found: GoodModels) -> str:
    """What notebooks show: features with their share, range of coefficients and price, and the cheapest exchanges."""
    found = _hurried(found)
    order = found.order()
    shown = order[:_MOST_ROWS]
    rows = [
        (name, share(found, j), coefficients(found, j), price(found, j))
        for j, name in zip(shown.tolist(), found.problem.names(shown), strict=True)
    ]
    heads = ("feature", "in models", "coefficient", "price of doing without")
    rest = order.size - shown.size
    notes = [f"and {counted(rest, 'feature')} in fewer models"] if rest else []
    told = exchanges(found)
    notes += [f"{'; '.join(told[:_MOST_EXCHANGES])}."] if told else []
    modelled = shortened(found.problem.class_names[1], _LONGEST_NAME)
    remark = f"in {duration(found.seconds)}, probability of {modelled} modelled"
    return table_card(f"Alternatives: {kind(found)} {scope(found)}", remark, describe(found), heads, rows, notes)


def share(found: GoodModels, j: int) -> str:
    """In how many of the models a feature is."""
    return percent_of(int(found.counts[j]), max(len(found), 1))


def coefficients(found: GoodModels, j: int) -> str:
    """The range of a feature's coefficient over the models that have it."""
    low, high = found.coef_range[j].tolist()
    if np.isnan(low):
        return "–"
    return signed(low) if signed(low) == signed(high) else f"{signed(low)} to {signed(high)}"


def price(found: GoodModels, j: int) -> str:
    """The price of doing without a feature, in percent of the best objective; what is proved of it if time ran out."""
    prices, best = found.prices_without, found.best.objective
    cost, bound = float(prices.price[j]) / best, float(prices.bound[j]) / best
    if np.isnan(cost):
        return "required"
    if cost == 0.0:
        return "0\u00a0%"
    if np.isinf(cost):
        return f"at least {percent_below(bound)}"
    return percent_above(cost) if is_exact(cost, bound) else f"{percent_below(bound)} to {percent_above(cost)}"


def is_exact(cost: float, bound: float) -> bool:
    """Whether a relative price is known to all digits that are shown."""
    return cost - bound <= 2e-6 + 1e-2 * cost


def exchanges(found: GoodModels) -> list[str]:
    """Which feature of the best model can be replaced by which other one, one phrase each, the cheapest first."""
    names = found.problem.names
    return [
        f"{shortened(names([one.out])[0], _LONGEST_NAME)} can be replaced by "
        f"{shortened(names([one.in_])[0], _LONGEST_NAME)} at {percent_above(one.cost)}"
        for one in found.exchanges
    ]


def contested(found: GoodModels) -> str:
    """How much the models disagree about the samples they were fitted to."""
    told = found.disagreement()
    some = int(np.count_nonzero(told.share > 0.0))
    if not some:
        return "All of them predict the same class for every sample."
    widest = int(np.argmax(told.highest - told.lowest))
    return (
        f"For {some:,} of {counted(told.share.size, 'sample')} some of them predict another class than the best model. "
        f"They differ most about sample {widest}: probabilities from {told.lowest[widest]:.2f} to "
        f"{told.highest[widest]:.2f}."
    )


def _models(found: GoodModels) -> str:
    """How many models there are, of which set, and whether that is all."""
    number, close = kind(found), scope(found)
    if not found.complete:
        return f"{number} {close} found; others may be missing. {found.status.sentence}"
    one = len(found) == 1
    verb = "is" if one else "are"
    if found.minimal:
        them = "it" if one else "one of them"
        return f"{number} {verb} {close}; every model as good as that contains {them}. Proved: none is missing."
    if found.wish.n_best == len(found):
        worst = percent_above(float(found.excess.max(initial=0.0)))
        return f"The {number} with the smallest objective, the last {worst} above the best. Proved: no other is better."
    if found.wish.within is None:
        return f"{number}: all that there are. Proved: none is missing."
    close = f"within {100.0 * found.wish.within:g}\u00a0% of the best"
    return f"{number} {verb} {close}. Proved: no other {verb if one else 'is'}."


def _missing(found: GoodModels) -> str:
    """What is proved of models that are not listed, where some may be missing."""
    best, bound = found.best.objective, found.missing_bound
    if bound > best:
        return f"Proved: every model that is missing is at least {percent_below(bound / best - 1.0)} above the best."
    by = percent_above(1.0 - bound / best)
    return f"Proved: no model that is missing is better than the best one found by more than {by}."


def _features(found: GoodModels) -> Iterator[str]:
    """Features in all, some and none of the models."""
    always, never, some = found.always.size, found.never.size, found.sometimes.size
    if found.complete:
        total = counted(found.problem.n_features, "feature")
        yield f"Of {total}, {always:,} in all of them, {some:,} in some and {never:,} in none."
        return
    if always + never:
        yield f"Proved of all, found or missing: {counted(always, 'feature')} in every one, {never:,} in none."
    yield f"{counted(some, 'feature')} in some of those found; {found.undecided.size:,} may be in missing ones."


def _is_listed(found: GoodModels) -> bool:
    """Whether the best model is one of those listed."""
    best = found.best.support
    return any(np.array_equal(support, best) for support in found.supports)


def _hurried(found: GoodModels) -> GoodModels:
    """The same models, as far as they are known, with little time for what has to be searched yet."""
    limit = found.settings.time_limit
    settings = replace(found.settings, time_limit=_PATIENCE if limit is None else min(limit, _PATIENCE))
    copy = replace(found, settings=settings, progress=False)
    stated = {field.name for field in fields(found)}
    vars(copy).update({name: value for name, value in vars(found).items() if name not in stated})
    return copy
