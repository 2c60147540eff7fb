"""The table in words and short numbers: the same on the screen, in notebooks, on the command line and in reports."""

from __future__ import annotations

import math
from typing import NamedTuple

from safescreen.estimation.telling import which_is_which
from safescreen.formatting.digits import counted, padded, signed
from safescreen.summary.table import Row, Table

MARK = "*"
"""Stands at the odds ratio that should be read."""

NOTHING = "–"
REVERSED = "reversed"
_TOLD = 5
LARGER = "larger"
_MEANINGS = {
    LARGER: "Larger: the ridge made the coefficient larger, at the cost of others.",
    REVERSED: "Reversed: without a ridge the coefficient has the other sign.",
    NOTHING: "– there are no coefficients without a ridge, because the features separate the classes "
    "(or repeat each other).",
}


class Head(NamedTuple):
    """A column: its title, what stands below it, and a title for narrow screens."""

    title: str
    remark: str = ""
    brief: str = ""

    def __str__(self) -> str:
        return f"{self.title} {self.remark}".rstrip()


HEADS = (
    Head("feature"),
    Head("coefficient", "per unit", "coef."),
    Head("coefficient", "per SD", "coef."),
    Head("odds ratio", "per unit"),
    Head("odds ratio", "per SD"),
    Head("shrunk", "by"),
)
_RESAMPLED = (Head("95 % interval", f"odds ratio{MARK}"), Head("chosen in", "resamples"))


def heads(table: Table) -> tuple[Head, ...]:
    """The columns."""
    return HEADS if table.n_resamples is None else (*HEADS, *_RESAMPLED)


def cells(table: Table) -> list[tuple[str, ...]]:
    """A line per feature, and one for the intercept."""
    lines = [_cells_of(row) for row in table.rows]
    lines.append(("intercept", signed(table.intercept), *("" for _ in heads(table)[2:])))
    return lines


def title(table: Table) -> str:
    """What is modelled."""
    return f"Log-odds of {table.positive}"


def size(table: Table) -> str:
    """How many features there are."""
    return f"{len(table.rows):,} of {counted(table.choice.n_features, 'feature')}"


def provenance(table: Table) -> str:
    """Which ridge the choice and which the coefficients belong to, and what is proved of the choice."""
    return which_is_which(table.choice, table.gamma)


def notes(table: Table) -> list[str]:
    """What the columns do not say for themselves."""
    found = []
    if table.rows:
        found.append(f"{MARK} to be read: per unit for 0/1 features, per standard deviation (SD) for others.")
        found.append("Shrunk by: how much smaller the ridge made the coefficient.")
    found += leak(table)
    words = {shrunk(row.shrinkage) for row in table.rows}
    found += [meaning for word, meaning in _MEANINGS.items() if word in words]
    if table.n_resamples is not None:
        found.append(
            f"Intervals are percentiles over {counted(table.n_resamples, 'bootstrap resample')}, conditional on the "
            "choice of features; they do not account for the selection."
        )
    return found


def leak(table: Table) -> list[str]:
    """A sentence about features that need no others; none where there are no such features."""
    if not table.leaks:
        return []
    names = ", ".join(repr(name) for name in table.leaks[:_TOLD]) + (", ..." if len(table.leaks) > _TOLD else "")
    verb, known = ("tells", "it is") if len(table.leaks) == 1 else ("each tell", "they are")
    who = f"{names} {verb} the classes apart alone, without a mistake"
    return [f"{who}: make sure that {known} known before the outcome, and no leak of it."]


def _cells_of(row: Row) -> tuple[str, ...]:
    per_unit, per_std = odds(row.coefficient), odds(row.effect)
    line = [row.feature, signed(row.coefficient), signed(row.effect)]
    line += [_marked(per_unit, row.reads_per_unit), _marked(per_std, not row.reads_per_unit), shrunk(row.shrinkage)]
    if row.interval is not None:
        line.append(" to ".join(odds(end * row.step) for end in row.interval))
    if row.frequency is not None:
        line.append(f"{100.0 * row.frequency:.0f} %")
    return tuple(line)


def odds(log_odds: float) -> str:
    """An odds ratio from its logarithm, which stays readable where the ratio overflows."""
    return padded(math.exp(log_odds)) if not abs(log_odds) > 700.0 else f"e^{log_odds:.4g}"


def shrunk(share: float) -> str:
    """How much smaller a coefficient has become."""
    if math.isnan(share):
        return NOTHING
    if share > 1.0:
        return REVERSED
    return LARGER if share < -0.005 else f"{100.0 * max(share, 0.0):.0f} %"


def _marked(text: str, marked: bool) -> str:
    return text + (MARK if marked else "\u00a0")
