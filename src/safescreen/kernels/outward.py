"""The order in which open nodes are taken: the smallest bound first, or outward from a model.

A model *exchanges* features of another one that it does without. All models of a node exchange at least those that are
out in it, and those for which there is no place left: the node's *layer*. Outward, the layers are explored one after
the other, each in the order of bounds. Once a layer is explored, no model that shares so many features is better.

An order decides what is done first, never what is true.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray, StatusArray
from safescreen.kernels.compiling import inlined
from safescreen.kernels.subproblem import FREE, IN

ROWS_AT_ONCE = 64
"""Nodes whose bits are looked at at a time: memory against calls."""

LARGEST_STEP = 1e290
"""So many times any number of features is a float still."""

_INSIDE = np.array([(byte & 0x55).bit_count() for byte in range(256)], np.uint8)  # of four features; see `pack`


class Order(NamedTuple):
    """An order of open nodes."""

    number: int  # 0 where bounds alone count; every other order has a number of its own
    model: IndexArray  # the features to go outward from
    places: int  # features that a model may have
    step: float  # from one layer to the next one: larger than any bound that is not closed at once


BEST_BOUND_FIRST = Order(0, np.empty(0, np.int64), 0, 1.0)


def outward_from(number: int, model: IndexArray, places: int, upper: float) -> Order:
    """The order that begins with a model whose objective is ``upper``."""
    return Order(number, model, places, min(2.0 * upper, LARGEST_STEP))


def count_inside(bits: npt.NDArray[np.uint8]) -> IndexArray:
    """How many features are in, of each node."""
    inside = np.empty(len(bits), np.int64)
    for begin in range(0, len(bits), ROWS_AT_ONCE):
        rows = bits[begin : begin + ROWS_AT_ONCE]
        inside[begin : begin + ROWS_AT_ONCE] = _INSIDE[rows].sum(axis=1, dtype=np.int64)
    return inside


def layers_of(
    bits: npt.NDArray[np.uint8], inside: npt.NDArray[np.integer], model: IndexArray, places: int
) -> IndexArray:
    """The layers of nodes: how many features of the model all their models lack at least.

    Of each node's bits it takes the bytes in which the features of the model are, and how many features are in.
    """
    codes = (bits >> (2 * (model & 3)).astype(np.uint8)) & 3
    out, free = np.count_nonzero(codes == 2, axis=1), np.count_nonzero(codes == 0, axis=1)
    return np.asarray(out + np.maximum(free - (places - inside), 0))


def keys_of(bounds: FloatArray, layers: IndexArray, step: float) -> FloatArray:
    """The numbers by which nodes are ordered outward."""
    within = 0.5 * step
    return np.asarray(step * layers + np.clip(np.nan_to_num(bounds, nan=within), 0.0, within))


@inlined
def layer_of(model: IndexArray, status: StatusArray, inside: int, places: int) -> int:
    """The layer of a node in which so many features are in: how many of the model's its models lack at least."""
    kept, free = 0, 0
    for j in model:
        kept += 1 if status[j] == IN else 0
        free += 1 if status[j] == FREE else 0
    layer: int = model.size - kept - free + max(free - (places - inside), 0)
    return layer


@inlined
def outward_key(layer: int, bound: float, step: float) -> float:
    """The number by which a node is ordered: whatever its bound is, a layer ends before the next one begins."""
    within = 0.5 * step
    return step * layer + (min(max(bound, 0.0), within) if bound == bound else within)


@inlined
def strongest_of_model(model: IndexArray, status: StatusArray, gain: FloatArray, x: FloatArray) -> int:
    """The free feature of the model that costs most to do without, as it seems; -1 if none of them is free."""
    best, most = -1, -1.0
    for j in model:
        if status[j] == FREE and (best < 0 or gain[j] + abs(x[j]) > most):
            best, most = j, gain[j] + abs(x[j])
    return best
