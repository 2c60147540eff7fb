"""``python -m safescreen.verification proof.npz data.npz``: check a proof with NumPy alone.

The data are a NumPy archive with the labels ``y`` and either a dense matrix ``X`` or a sparse one: ``data``,
``indices``, ``indptr`` and ``shape`` of its compressed rows, or whatever :func:`scipy.sparse.save_npz` writes.
SciPy is imported for sparse data only, and nothing of the solver ever is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from safescreen.verification import verify
from safescreen.verification.arithmetic import Array

VALID, REFUSED, BAD_INPUT = 0, 1, 2
COMPRESSED_ROWS = ("data", "indices", "indptr", "shape")


class InputError(Exception):
    """The data cannot be used; the message says why."""


class Parser(argparse.ArgumentParser):
    """A parser that complains in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Complain, and leave."""
        self.exit(BAD_INPUT, f"{self.prog}: {message}; --help says how.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a proof, print the verdict, and return the exit status."""
    parser = Parser(
        prog="python -m safescreen.verification",
        description="Check a proof of optimality against the data it is about.",
        epilog="Exit status: 0 if the proof is valid, 1 if it is refused, 2 if the input cannot be used.",
    )
    parser.add_argument("proof", help="the proof, a .npz file")
    parser.add_argument(
        "data",
        help="a .npz file with y, either X or data, indices, indptr and shape (or what scipy.sparse.save_npz writes), "
        "and sample_weight if the proof must be about these weights",
    )
    parser.add_argument("--positive", metavar="LABEL", help="the label that must be modelled, against all others")
    parser.add_argument("--k", type=int, help="the budget of features that must have been proved about")
    parser.add_argument("--mu", type=float, help="the price of a feature, likewise")
    parser.add_argument("--gamma", type=float, help="the ridge, likewise")
    said = parser.parse_args(arguments)
    try:
        matrix, labels, sample_weight = read_data(said.data)
        positive_class = None if said.positive is None else label_called(said.positive, labels)
        asked = {"k": said.k, "mu": said.mu, "gamma": said.gamma, "positive_class": positive_class}
        result = verify(said.proof, matrix, labels, sample_weight, **asked)
    except (InputError, OSError, TypeError, ValueError) as error:
        sys.stderr.write(f"{parser.prog}: {in_one_sentence(error)}\n")
        return BAD_INPUT
    sys.stdout.write(f"{result}\n")
    return VALID if result.valid else REFUSED


def label_called(text: str, labels: Array) -> Any:
    """The label that looks like what was typed."""
    for label in np.unique(labels).tolist():
        if text in (str(label), f"{label:g}" if isinstance(label, float) else ""):
            return label
    raise InputError(f"--positive is {text!r}, but there is no such label.")


def in_one_sentence(error: Exception) -> str:
    """What went wrong, on one line."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename!r} cannot be read: {error.strerror}."
    return " ".join(str(error).split())


def read_data(path: str) -> tuple[Any, Array, Array | None]:
    """Matrix, labels and, if there are any, weights."""
    arrays = read_archive(path)
    if "y" not in arrays:
        raise InputError(f"{path!r} has no labels: an array y is needed.")
    if "X" in arrays:
        matrix = arrays["X"]
    elif all(name in arrays for name in COMPRESSED_ROWS) or "format" in arrays:
        matrix = sparse_matrix(path, arrays)
    else:
        raise InputError(f"{path!r} has no matrix: an array X, or all of {', '.join(COMPRESSED_ROWS)}, is needed.")
    return matrix, arrays["y"], arrays.get("sample_weight")


def read_archive(path: str) -> dict[str, Array]:
    """The arrays of a NumPy archive that are of any use here; none is ever unpickled."""
    wanted = {"X", "y", "sample_weight", "format", *COMPRESSED_ROWS}
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if name in wanted}
    except OSError:
        raise
    except Exception as error:  # whatever a file that is no archive can trigger
        raise InputError(f"{path!r} is damaged, or no NumPy archive (.npz) of plain numbers and strings.") from error


def sparse_matrix(path: str, arrays: dict[str, Array]) -> Any:
    """The matrix of a sparse archive, with every index in range."""
    from scipy import sparse

    try:
        if "format" in arrays:
            matrix = sparse.load_npz(path)
        else:
            shape = tuple(arrays["shape"].tolist())
            matrix = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except Exception as error:  # whatever parts that do not fit together can trigger
        raise InputError(f"{path!r} holds no sparse matrix ({type(error).__name__}: {error}).") from error
    return matrix


if __name__ == "__main__":
    sys.exit(main())
