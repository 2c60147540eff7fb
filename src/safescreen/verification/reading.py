"""The proof file: which arrays belong in it, and nothing else gets past here.

A proof is a zip archive of ``.npy`` arrays, one of which is a header in JSON.
``docs/proof-format.md`` describes every field. What is returned has the right names, types and
dimensions and is finite; whether it makes sense, and whether it is about the data at hand, is for
:mod:`safescreen.verification.checker` to find out.
"""

from __future__ import annotations

import json
import math
import zipfile
from typing import IO, Any

import numpy as np

from safescreen.verification.arithmetic import Array

Header = dict[str, Any]
Arrays = dict[str, Array]

HEADER_FIELDS = {
    "n_samples": int,
    "n_features": int,
    "mu": float,
    "k": int,
    "gamma": float,
    "fit_intercept": bool,
    "standardize": bool,
    "classes": list,
    "matrix_form": str,
    "fingerprint": dict,
    "intercept": float,
    "chunks": int,
    "claims": dict,
}
LIST_FIELDS = {"goal": str, "listed": int, "threshold": float}
"""What the header of a list of models (version 2) states as well."""
CORE_FIELDS = {"goal": str, "at_least": int, "within": float}
"""And that of a core (version 3)."""
ABOUT_THE_FILE = ("format", "version", "software")
"""Fields that say nothing about the problem; any other one might, so that nothing else is let past unread."""
CLAIM_FIELDS = {"objective": float, "lower_bound": float, "rel_gap": float, "status": str}
LIST_CLAIM_FIELDS = {"objective": float, "missing_bound": float, "complete": bool, "status": str}
CORE_CLAIM_FIELDS: dict[str, type] = {"objective": float, "lower_bound": float}
ONE_MODEL, LIST_OF_MODELS, CORE, SWEPT = 1, 2, 3, 4
"""The versions of the format: a proof that a model is the best, a list of all good ones, and what all good ones use.

The last one is the first, but with nodes whose completions are not all spelled out.
"""
EXTRA_FIELDS: dict[int, dict[str, type]] = {ONE_MODEL: {}, LIST_OF_MODELS: LIST_FIELDS, CORE: CORE_FIELDS, SWEPT: {}}
CLAIMS: dict[int, dict[str, type]] = {
    ONE_MODEL: CLAIM_FIELDS,
    LIST_OF_MODELS: LIST_CLAIM_FIELDS,
    CORE: CORE_CLAIM_FIELDS,
    SWEPT: CLAIM_FIELDS,
}
"""What the header and its claims state, by version."""
GOALS = {LIST_OF_MODELS: ("all", "minimal"), CORE: ("core",)}

NODE = np.dtype(
    [
        ("parent", "<i8"),
        ("decision", "<i4"),
        ("screened", "<i4"),
        ("size", "<i4"),
        ("intercept", "<f8"),
    ]
)
"""One record per node of the tree."""

REQUIRED_ARRAYS = {"header": "|u1", "support": "<i8", "coef": "<f8", "root_dual": "<f8"}
OPTIONAL_ARRAYS = {
    "include": "<i8",
    "exclude": "<i8",
    "constant": "<i8",
    "root_screened": "<i4",
    "weights": "<f8",
}
"""Arrays that may be absent, which means that they are empty."""
LIST_ARRAYS = {
    "models_size": "<i4",
    "models_feature": "<i4",
    "models_value": "<f8",
    "models_intercept": "<f8",
    "models_objective": "<f8",
}
CORE_ARRAYS = {"core": "<i8"}
STANDARDIZED_ARRAYS = {"means": "<f8", "scales": "<f8"}
TREE_ARRAYS: dict[str, Any] = {"nodes": NODE, "screened": "<i4", "feature": "<i4", "value": "<f8"}
"""What each chunk of the tree consists of."""
SWEPT_ARRAYS = {"swept": "<i8"}
"""What it may have as well, if the version says so: the places of its swept nodes."""


class RefusedError(Exception):
    """The proof does not hold; the message says why."""


def require(condition: Any, reason: str) -> None:
    """Refuse the proof unless the condition holds."""
    if not condition:
        raise RefusedError(reason)


def read_proof(file: IO[bytes]) -> tuple[Header, Arrays]:
    """Header and arrays of a proof, exactly those that belong there and of the right types."""
    contents = unzip(file)
    header = read_header(contents)
    types = array_types(header, len(contents))
    optional = {name: dtype for name, dtype in types.items() if name in OPTIONAL_ARRAYS or is_swept(name)}
    missing = sorted(set(types) - set(contents) - set(optional))
    unknown = sorted(set(contents) - set(types))
    require(not missing and not unknown, f"The proof lacks the arrays {missing} or has no use for {unknown}.")
    arrays: Arrays = {}
    for name, dtype in optional.items():
        arrays[name] = np.empty(0, dtype)
    for name, content in contents.items():
        arrays[name] = read_array(name, content, types[name])
    return header, arrays


def unzip(file: IO[bytes]) -> dict[str, bytes]:
    """The members of the archive; reading them also checks every CRC."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        contents = {name.removesuffix(".npy"): archive.read(name) for name in names}
    require(len(contents) == len(names), "Two members of the proof have the same name.")
    return contents


def read_header(contents: dict[str, bytes]) -> Header:
    """The header, with every field that is read later on present, finite and of its type."""
    header: Any = {}
    if "header" in contents:
        text = read_array("header", contents["header"], REQUIRED_ARRAYS["header"])
        header = json.loads(text.tobytes())
    version = header.get("version")
    require(header.get("format") == "safescreen-proof", "The file is no safescreen proof.")
    known = type(version) is int and version in EXTRA_FIELDS
    require(known, f"The proof has version {version!r}, but only 1, 2, 3 and 4 are known.")
    fields = HEADER_FIELDS | EXTRA_FIELDS[version]
    unknown = sorted(set(header) - set(fields) - set(ABOUT_THE_FILE))
    require(not unknown, f"The header states {unknown}, which this checker does not know.")
    check_fields(header, fields)
    require(header["matrix_form"] in ("dense", "sparse"), "The header has no proper 'matrix_form'.")
    check_fields(header["claims"], CLAIMS[version])
    if version in GOALS:
        require(header["goal"] in GOALS[version], f"The goal {header['goal']!r} is not known.")
    if version == LIST_OF_MODELS:
        require(header["listed"] >= 0, "The number of listed models is negative.")
    return dict(header)


def check_fields(entries: dict[str, Any], fields: dict[str, type]) -> None:
    """Every field is there, is finite and has the right type, where an integer may stand for a float."""
    for name, kind in fields.items():
        value = entries.get(name)
        right_type = type(value) is kind or (kind is float and type(value) is int)
        require(right_type, f"The header has no proper {name!r}.")
        if kind in (int, float):
            require(math.isfinite(entries[name]), f"The header's {name!r} is not finite.")


def array_types(header: Header, n_members: int) -> dict[str, Any]:
    """The type of every array that may be in this proof; more chunks than members need not be believed."""
    types: dict[str, Any] = REQUIRED_ARRAYS | OPTIONAL_ARRAYS
    if header["version"] == LIST_OF_MODELS:
        types |= LIST_ARRAYS
    if header["version"] == CORE:
        types |= CORE_ARRAYS
    if header["standardize"]:
        types |= STANDARDIZED_ARRAYS
    for chunk in range(min(header["chunks"], n_members)):
        for name, dtype in (TREE_ARRAYS | (SWEPT_ARRAYS if header["version"] == SWEPT else {})).items():
            types[chunk_name(chunk, name)] = dtype
    return types


def chunk_name(chunk: int, name: str) -> str:
    """The name of an array that belongs to a chunk of the tree."""
    return f"tree{chunk:06d}_{name}"


def is_swept(name: str) -> bool:
    """Whether an array of this name says which nodes of a chunk are swept."""
    return name.startswith("tree") and name.endswith("_swept")


def read_array(name: str, content: bytes, dtype: Any) -> Array:
    """The array of this type in an ``.npy`` file.

    NumPy's reader is not needed: a file that holds such an array begins with exactly the header that NumPy
    would write for it, and the rest are its numbers. Nothing is ever unpickled.
    """
    start = 10 + int.from_bytes(content[8:10], "little")
    array: Array = np.frombuffer(content, dtype, offset=start)
    described = array.dtype.descr if array.dtype.names else array.dtype.str
    expected = f"{{'descr': {described!r}, 'fortran_order': False, 'shape': ({array.size},), }}"
    same_version = content[:8] == b"\x93NUMPY\1\0"
    same_header = content[10:start].rstrip() == expected.encode()
    require(same_version and same_header, f"The array {name!r} has a wrong type or shape.")
    if array.dtype.kind == "f":
        require(np.isfinite(array).all(), f"The array {name!r} contains NaN or infinity.")
    return array
