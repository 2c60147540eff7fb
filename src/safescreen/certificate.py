"""Writing a proof while the search runs: every node, its decisions and the dual point behind its bound.

A node's dual point is the one that belongs to its (sparse) iterate, so storing the iterate is enough; the checker
computes the point again, and only the bound it finds counts. The file is written in pieces as the search goes, under a
temporary name, and gets its own name when it is complete. ``docs/certificate-format.md`` describes it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from safescreen import __version__
from safescreen.bounds import Bound, Fixings, bound_at
from safescreen.problem import Problem

if TYPE_CHECKING:
    from safescreen.solution import Solution
    from safescreen.tree import Log, Store

IndexArray = npt.NDArray[np.int64]

NODE = np.dtype(
    [
        ("node", "<i8"),
        ("parent", "<i8"),
        ("decision", "<i4"),
        ("screened", "<i4"),
        ("size", "<i4"),
        ("intercept", "<f8"),
    ]
)
"""One record per node of the tree."""

_PIECE = 1 << 22  # bytes of the tree written at a time


class Proof:
    """A proof file in the making.

    Parameters
    ----------
    path : str or path-like
        Where the finished proof will be; until then it grows beside it under a temporary name.
    problem : Problem
        What is proved something about.
    """

    def __init__(self, path: str | os.PathLike[str], problem: Problem) -> None:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"certificate is {path!r}, but must be None or the path of a file to write.")
        self.path = Path(path)
        self.problem = problem
        if not self.path.parent.is_dir() or self.path.is_dir():
            raise ValueError(f"certificate is {str(path)!r}, but must name a file in a folder that exists.")
        self._temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.{threading.get_native_id()}.part")
        self._file = zipfile.ZipFile(self._temporary, "w")
        self._lock = threading.Lock()
        self._pieces: list[tuple[npt.NDArray[Any], ...]] = []
        self._nodes, self._chunks, self._size = 0, 0, 0
        self._hashing = threading.Thread(target=lambda: problem.design.fingerprint, daemon=True)
        self._hashing.start()  # hashing needs no interpreter lock: it is done before a longer search is

    def take(self, log: Log, columns: IndexArray) -> None:
        """Move what a worker has logged into the proof; its features are positions in ``columns``."""
        nodes, screened, entries = log.counts[:3].tolist()
        if nodes == 0:
            return
        records = np.empty(nodes, NODE)
        records["node"], records["parent"] = log.node[:nodes].T
        records["decision"], records["screened"], records["size"] = log.facts[:nodes].T
        records["decision"] = _global(records["decision"], columns)
        records["intercept"] = log.intercept[:nodes]
        decisions = _global(log.screened[:screened], columns)
        self._add(records, decisions, columns[log.feature[:entries]].astype(np.int32), log.value[:entries].copy())
        log.counts[:3] = 0

    def take_open(self, store: Store, log: Log, columns: IndexArray) -> None:
        """Record the nodes still waiting: they are leaves with the bound of their parents."""
        waiting = store.heap[: store.counts[1]]
        if waiting.size == 0:
            return
        records = np.zeros(waiting.size, NODE)
        records["node"] = log.counts[3] + log.counts[4] * np.arange(waiting.size)
        records["parent"] = store.parent[waiting]
        records["decision"] = _global(store.decision[waiting], columns)
        records["size"] = -1
        log.counts[3] += log.counts[4] * waiting.size
        self._add(records, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))

    def finish(self, solution: Solution, root: Bound, screened: IndexArray, rel_gap: float) -> None:
        """Add the model, the root and the header, and give the file its name."""
        self._write_pieces()
        self._hashing.join()
        problem, design = self.problem, self.problem.design
        arrays: dict[str, npt.NDArray[Any]] = {
            "include": problem.include,
            "exclude": problem.exclude,
            "constant": np.flatnonzero(design.constant),
            "root_screened": screened.astype(np.int32),
        }
        arrays = {name: array for name, array in arrays.items() if array.size}  # each member costs time and room
        arrays |= {"support": solution.support, "coef": solution.coef[solution.support], "root_dual": root.dual}
        if problem.weights.min() < problem.weights.max():
            arrays["weights"] = problem.weights
        if problem.standardize:
            arrays |= {"means": design.means, "scales": design.scales}
        header = {
            "format": "safescreen-proof",
            "version": 1,
            "software": f"safescreen {__version__}",
            "n_samples": problem.n_samples,
            "n_features": problem.n_features,
            "mu": problem.mu,
            "k": problem.k,
            "gamma": problem.gamma,
            "fit_intercept": problem.fit_intercept,
            "standardize": problem.standardize,
            "classes": [value.item() if hasattr(value, "item") else value for value in problem.classes],
            "matrix_form": design.form,
            "fingerprint": {
                "matrix": design.fingerprint,
                "labels": hashlib.sha256(problem.y.astype(np.int8).data).hexdigest(),
                "weights": hashlib.sha256(problem.weights.data).hexdigest(),
            },
            "intercept": solution.intercept,
            "nodes": self._nodes,
            "chunks": self._chunks,
            "claims": self._claims(solution, root, rel_gap),
        }
        text = json.dumps(header, default=str).encode()
        self._write("header", np.frombuffer(text, np.uint8))
        for name, array in arrays.items():
            self._write(name, array)
        self._file.close()
        os.replace(self._temporary, self.path)

    def _claims(self, solution: Solution, root: Bound, rel_gap: float) -> dict[str, Any]:
        """What a checker in double precision can confirm: no more digits than ordinary sums of products have."""
        lower, status = solution.lower_bound, solution.status
        if root.sharp and lower <= root.value:
            ordinary = bound_at(self.problem, Fixings(self.problem.included, self.problem.excluded), root.dual)
            lower = min(lower, ordinary.value)
            if status == "optimal" and solution.objective - lower > rel_gap * solution.objective:
                status = "numerical_limit"
        claims = {"objective": solution.objective, "lower_bound": lower, "status": status}
        return {**claims, "rel_gap": float(rel_gap)}

    def abandon(self) -> None:
        """Remove the unfinished file."""
        self._hashing.join()
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def _add(self, *parts: npt.NDArray[Any]) -> None:
        with self._lock:
            self._pieces.append(parts)
            self._nodes += parts[0].size
            self._size += sum(part.nbytes for part in parts)
            if self._size >= _PIECE:
                self._write_pieces()

    def _write_pieces(self) -> None:
        """Write what has gathered as one chunk of the tree."""
        if not self._pieces:
            return
        names = ("nodes", "screened", "feature", "value")
        for name, parts in zip(names, zip(*self._pieces, strict=True), strict=True):
            self._write(f"tree{self._chunks:06d}_{name}", np.concatenate(parts))
        self._chunks += 1
        self._pieces, self._size = [], 0

    def _write(self, name: str, array: npt.NDArray[Any]) -> None:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
        self._file.writestr(f"{name}.npy", buffer.getbuffer())


def _global(decisions: npt.NDArray[np.int32], columns: IndexArray) -> npt.NDArray[np.int32]:
    """Decisions about positions in ``columns`` as decisions about features; 0 stays 0."""
    features = columns[np.maximum(np.abs(decisions) - 1, 0)] + 1
    return np.asarray(np.sign(decisions) * features, dtype=np.int32)
