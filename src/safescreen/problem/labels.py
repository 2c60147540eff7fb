"""Which label is modelled, and what the others are to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import AnyArray, BoolArray
from safescreen.text import brief


class Classes(NamedTuple):
    """The two classes of a problem; with more than two labels, one of them against the rest."""

    pair: AnyArray  # negative, positive
    positive: Any  # the label that is modelled, as it is in the data

    @property
    def against_rest(self) -> bool:
        """Whether every other label counts as the negative class."""
        return is_against_rest(self.pair[0], self.positive)

    @property
    def names(self) -> tuple[str, str]:
        """Both classes in words, the negative one first."""
        negative = f"not {self.positive}" if self.against_rest else str(self.pair[0])
        return negative, str(self.positive)


def is_against_rest(negative: Any, positive: Any) -> bool:
    """Whether the negative class is made up of all labels but one, which its own label shows."""
    if isinstance(positive, str):
        return bool(negative == f"not {positive}")
    return isinstance(negative, bool | np.bool_) and not isinstance(positive, bool | np.bool_)


def two_classes(labels: AnyArray, positive_class: Any) -> Classes | None:
    """The classes that different, sorted labels stand for; None if there are more than two and none is named."""
    if positive_class is None:
        return Classes(labels, labels[1]) if labels.size == 2 else None
    positive = _found(labels, positive_class)
    if labels.size == 2:
        return Classes(labels if positive == labels[1] else labels[::-1].copy(), positive)
    if isinstance(positive, str):
        kind: npt.DTypeLike = object if labels.dtype.kind == "O" else np.str_
        return Classes(np.array([f"not {positive}", positive], dtype=kind), positive)
    return Classes(np.array([False, True]), positive)


def has_label(labels: AnyArray, label: Any) -> BoolArray:
    """Which samples have a label."""
    return np.asarray(labels == label, dtype=np.bool_)


def shown(label: Any) -> str:
    """A label in a sentence: words in quotation marks, numbers as they are."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _found(labels: AnyArray, positive_class: Any) -> Any:
    """The label that is meant."""
    for label in labels if np.ndim(positive_class) == 0 else ():
        if label == positive_class:
            return label
    some = ", ".join(shown(label) for label in labels[:10]) + (", ..." if labels.size > 10 else "")
    raise ValueError(f"positive_class is {brief(positive_class)}, but must be one of the labels in y: {some}.")
