"""What a proof file says of itself: enough to recognise it and to check it elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from safescreen.solution import Solution

_SAME = 1e-9  # relative difference of objectives that rounding explains


@dataclass(frozen=True)
class Proof:
    """A proof file's name, checksum and header."""

    name: str
    size: int
    sha256: str
    fingerprint: dict[str, Any]
    claims: dict[str, Any]


def read_proof(path: str | os.PathLike[str]) -> Proof:
    """The header of a proof; the proof itself is not checked here."""
    file = Path(path)
    content = file.read_bytes()
    try:
        with np.load(file, allow_pickle=False) as archive:
            header = json.loads(bytes(np.asarray(archive["header"], dtype=np.uint8)).decode("utf-8"))
        fingerprint, claims = dict(header["fingerprint"]), dict(header["claims"])
    except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"proof is {str(path)!r}, which is no proof file ({type(error).__name__}: {error}): give the file that "
            "solve(..., proof=...) wrote."
        ) from None
    return Proof(file.name, len(content), hashlib.sha256(content).hexdigest(), fingerprint, claims)


def check_belongs(proof: Proof, solutions: Iterable[Solution]) -> None:
    """Refuse the proof of another model: printed next to this one, it would mislead."""
    claimed = proof.claims.get("objective")
    objectives = [solution.objective for solution in solutions]
    if isinstance(claimed, int | float) and not any(abs(claimed - own) <= _SAME * abs(own) for own in objectives):
        raise ValueError(
            f"proof is {proof.name!r}, which claims an objective of {claimed:.9g}, but that of the result is "
            f"{objectives[-1]:.9g}: give the proof of this result."
        )
