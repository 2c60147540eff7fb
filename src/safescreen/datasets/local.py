"""Data sets on this computer: archives in the folder that ``SAFESCREEN_DATA`` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DATA_VARIABLE = "SAFESCREEN_DATA"
"""Environment variable naming the folder that `load_local` reads."""


def load_local(name: str) -> tuple[Any, npt.NDArray[np.int8]]:
    """Read a data set from the folder named by the environment variable ``SAFESCREEN_DATA``.

    Parameters
    ----------
    name : str
        Name of a NumPy archive in that folder, without ``.npz``. It holds ``y`` and either ``X`` or the parts
        ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix.

    Returns
    -------
    X : ndarray or csr_array
        Dense values in the dtype they are stored in, sparse ones as float64.
    y : ndarray of shape (n_samples,)
        Labels, -1 or 1.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise FileNotFoundError(f"{DATA_VARIABLE} is not set, but must name the folder that holds {name}.npz.")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        available = ", ".join(sorted(file.stem for file in Path(folder).glob("*.npz"))) or "nothing"
        raise FileNotFoundError(f"{DATA_VARIABLE} names a folder without {name}.npz; it holds {available}.")
    with np.load(path, allow_pickle=False) as archive:
        y = np.asarray(archive["y"])
        return (np.asarray(archive["X"]) if "X" in archive else _read_csr(archive)), y


def _read_csr(archive: Any) -> Any:
    from scipy import sparse

    parts = (archive["data"].astype(np.float64), archive["indices"], archive["indptr"])
    shape = tuple(int(length) for length in archive["shape"])
    return sparse.csr_array(parts, shape=shape)
