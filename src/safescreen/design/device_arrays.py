"""Arrays on a device: their library's namespace, and the ways to the host and back."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray, IndexArray

_COMPATIBILITY = ("array_api_compat", "sklearn.externals.array_api_compat", "scipy._lib.array_api_compat")
"""The layer that makes libraries speak one language: as installed, or as libraries that are needed anyway bring it."""

PINNED_BYTES = 1 << 20
"""Answers from this size on come through memory that the device writes to directly, several times as fast."""


def namespace(X: Any) -> Any:
    """The functions of the array API standard for the library of an array."""
    return _compatibility().array_namespace(X)


@cache
def _compatibility() -> Any:
    for name in _COMPATIBILITY:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError("Arrays on a device need array-api-compat: pip install 'safescreen[gpu]'.")


def plain(X: Any) -> Any:
    """The matrix without a record of gradients; one sentence for what cannot be read where it is."""
    if str(getattr(X, "layout", "torch.strided")) != "torch.strided" or type(X).__module__.startswith("cupyx."):
        raise TypeError(
            f"X is a sparse {type(X).__name__}, but on a device it must be dense: "
            "use X.to_dense() or X.toarray(), or pass a SciPy sparse matrix."
        )
    if getattr(getattr(X, "device", None), "type", "") == "mps":
        raise TypeError("X is on the device mps, which has no float64: pass X.cpu().")
    return X.detach() if hasattr(X, "detach") else X


def lies_on_host(X: Any) -> bool:
    """Whether the array lies in the machine's own memory."""
    return isinstance(X, np.ndarray) or getattr(getattr(X, "device", None), "type", "") == "cpu"


def to_device(values: AnyArray, like: Any) -> Any:
    """These values in the library of an array, where that array lies."""
    xp = namespace(like)
    return xp.asarray(values) if lies_on_host(like) else xp.asarray(values, device=like.device)


def to_host(array: Any) -> AnyArray:
    """The array in the machine's own memory; a large one in memory that its library keeps for the next one."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "get"):
        return _from_cupy(array)
    if lies_on_host(array) or array.nbytes < PINNED_BYTES:
        return np.asarray(array.cpu().numpy())
    torch = import_module("torch")
    pinned = torch.empty(array.shape, dtype=array.dtype, pin_memory=True)
    return np.asarray(pinned.copy_(array).numpy())


def _from_cupy(array: Any) -> AnyArray:
    if array.nbytes < PINNED_BYTES or not array.flags.c_contiguous:
        return np.asarray(array.get())
    pinned = import_module("cupyx").empty_pinned(array.shape, array.dtype)
    return np.asarray(array.get(out=pinned))


def largest(values: Any, count: int) -> tuple[IndexArray, AnyArray]:
    """Positions and values of the ``count`` largest entries of a vector, in descending order, on the host."""
    if hasattr(values, "topk"):
        top, positions = values.topk(count)
        return to_host(positions).astype(np.int64), to_host(top)
    xp = namespace(values)
    order = np.argpartition(values, values.size - count) if isinstance(values, np.ndarray) else xp.argsort(values)
    order = order[values.shape[0] - count :]
    positions, top = to_host(order).astype(np.int64), to_host(values[order])
    descending = np.argsort(-top, kind="stable")
    return positions[descending], top[descending]
