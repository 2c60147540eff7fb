"""What a checkpoint may say: compiled code trusts indices and counts, so that nothing wrong gets past here.

The digests tell whether a file is as it was written. Whoever writes one on purpose can state wrong bounds, as with any
result without a proof, but must not be able to bring a process down.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safescreen.arrays import AnyArray
from safescreen.search.saved import Saved
from safescreen.search.settings import LONGEST, MOST_NODES, SCREENINGS
from safescreen.verification.reading import Arrays, Header, require
from safescreen.verification.search_tree import check_counts, check_swept, decode

_COUNTS = ("nodes", "next_look", "rounds", "work", "logged")
_LARGEST = {"seconds": LONGEST, "root_level": 1e300, "rounding": 1.0}
"""Numbers that are neither negative nor larger than that."""
_ANY = ("root_intercept", "intercept")
_FLAGS = ("sharp", "has_looked", "has_tree")


def checked_header(header: Any, name: str, version: int) -> Header:
    """The header, with everything in it that is read later on, of its type and in its range."""
    require(type(header) is dict and header.get("format") == name, "it is no checkpoint")
    stated = header.get("version")
    require(stated == version and type(stated) is int, f"it has version {stated!r}, but only {version} is known")
    for field in ("problem", "numbers", "digests"):
        require(type(header.get(field)) is dict, f"its header has no {field}")
    problem = header["problem"]
    for field in ("n_samples", "n_features"):
        require(_is_count(problem.get(field), MOST_NODES), f"its header has no proper {field}")
    gap = header.get("rel_gap")
    require(_is_float(gap) and 0.0 <= gap < 1.0, "its header has no proper rel_gap")
    require(header.get("screening") in SCREENINGS, "its header has no proper screening")
    _check_numbers(header["numbers"])
    return dict(header)


def _check_numbers(numbers: dict[str, Any]) -> None:
    for name in _COUNTS:
        require(_is_count(numbers.get(name), MOST_NODES), f"its {name!r} is not a count")
    for name in (*_LARGEST, *_ANY):
        require(_is_float(numbers.get(name)), f"its {name!r} is no number")
    for name, largest in _LARGEST.items():
        require(0.0 <= numbers[name] <= largest, f"its {name!r} is out of range")
    for name in _FLAGS:
        require(type(numbers.get(name)) is bool, f"its {name!r} is neither true nor false")
    closed, chunks = numbers.get("closed_bound"), numbers.get("chunks")
    require(closed is None or _is_float(closed), "its bound of closed nodes is no number")
    require(chunks is None or _is_count(chunks, MOST_NODES), "its number of chunks is not a count")
    require(numbers["has_tree"] or (chunks is None and closed is None), "it has a proof of a tree, but no tree")
    require(chunks is not None or numbers["logged"] == 0, "it has nodes of a proof, but no proof")


def checked_saved(saved: Saved, problem: Header) -> None:
    """Every array has the size that it must have, and indices that lead somewhere."""
    arrays, samples, features = saved.arrays, problem["n_samples"], problem["n_features"]
    require(arrays["root_dual"].size == samples, "its dual point has a wrong size")
    for name in ("root_feature", "support", "columns"):
        _check_indices(name, arrays[name], features)
    decided = np.abs(np.clip(arrays["screened"], -features - 1, features + 1)) - 1
    _check_indices("screened", np.sort(decided), features)
    sizes = {"root_value": "root_feature", "coefficient": "support", "means": "columns", "scales": "columns"}
    sizes |= {f"trace_{name}": "trace_seconds" for name in ("nodes", "lower", "upper")}
    sizes |= {f"open_{name}": "open_bound" for name in ("level", "intercept", "parent", "decision", "length")}
    sizes |= {"open_value": "open_feature"}
    for name, other in sizes.items():
        require(arrays[name].size == arrays[other].size, f"its {name!r} has a wrong size")
    require((arrays["scales"] > 0.0).all(), "a scale is not positive")
    require((arrays["trace_nodes"] >= 0).all(), "its trace has a negative number of nodes")
    _check_open_nodes(saved)


def _check_open_nodes(saved: Saved) -> None:
    numbers, arrays = saved
    features, count = arrays["columns"].size, arrays["open_bound"].size
    require(numbers["has_tree"] or (features == 0 and count == 0), "it has nodes of a tree, but no tree")
    require(not numbers["has_tree"] or count or numbers["closed_bound"] is not None, "its tree is empty")
    require((arrays["open_level"] >= 0.0).all(), "a level is negative")
    parents = numbers["logged"] if numbers["chunks"] is not None else 0
    _check_range("open_parent", arrays["open_parent"], -1, parents)
    _check_range("open_decision", arrays["open_decision"], -features, features + 1)
    _check_range("open_length", arrays["open_length"], 0, features + 1)
    _check_range("open_feature", arrays["open_feature"], 0, features)
    entries = int(arrays["open_length"].sum(dtype=np.int64))
    require(entries == arrays["open_feature"].size, "its warm starts have a wrong size")
    _check_bits(arrays["open_bits"], count, features)


def _check_bits(bits: AnyArray, count: int, features: int) -> None:
    """Two bits per feature, of which one may be set, and none where there is no feature."""
    width = (features + 3) // 4
    require(bits.size == count * width, "its decisions have a wrong size")
    require(not (bits & (bits >> 1) & 0x55).any(), "a feature is both in and out")
    if features % 4 and count:
        last = bits.reshape(count, width)[:, -1]
        require(not (last >> (2 * (features % 4))).any(), "a feature is decided that does not exist")


def checked_chunk(chunk: Arrays, first: int, n_features: int) -> None:
    """A chunk of a proof's tree whose counts add up, and whose nodes come after their parents."""
    nodes = chunk["nodes"]
    if nodes.size == 0:
        require(not any(chunk[name].size for name in ("screened", "feature", "value", "swept")), "a chunk has no nodes")
        return
    check_counts(nodes, chunk["screened"], chunk["feature"], chunk["value"])
    place = first + np.arange(nodes.size)
    require((nodes["parent"] < place).all() and (nodes["parent"] >= -1).all(), "a node of its proof has no parent")
    branches = nodes["decision"][nodes["decision"] != 0]
    for codes in (branches, chunk["screened"]):
        _check_range("decision", decode(codes).feature, 0, n_features)
    _check_range("feature", chunk["feature"], 0, n_features)
    _check_range("swept", chunk["swept"], first, first + nodes.size)
    check_swept(chunk["swept"] - first, nodes)


def _check_indices(name: str, indices: AnyArray, features: int) -> None:
    """Sorted, each once, and all of them features."""
    _check_range(name, indices, 0, features)
    require((np.diff(indices) > 0).all(), f"its {name!r} is not sorted")


def _check_range(name: str, values: AnyArray, first: int, end: int) -> None:
    require(((values >= first) & (values < end)).all(), f"its {name!r} is out of range")


def _is_count(value: Any, largest: int) -> bool:
    return type(value) is int and 0 <= value <= largest


def _is_float(value: Any) -> bool:
    """A finite number; one without a fraction may be written as an integer, if it is not too long for a float."""
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < 2**62)
