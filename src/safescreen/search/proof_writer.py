"""Writing a proof while the search runs: every node, its decisions and the dual point behind its bound.

A node's dual point is the one that belongs to its (sparse) iterate, so storing the iterate is enough; the checker
computes the point again, and only the bound it finds counts. The file is written in pieces as the search goes, under a
temporary name, and gets its own name when it is complete. ``docs/proof-format.md`` describes it.
"""

from __future__ import annotations

import json
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from safescreen import __version__
from safescreen.arrays import AnyArray, BoolArray, IndexArray
from safescreen.expiry import ExpiredError, grace
from safescreen.incumbents import Incumbent
from safescreen.kernels.open_nodes import OpenNodes
from safescreen.kernels.proof_log import ProofLog, empty_log
from safescreen.problem import Problem
from safescreen.relaxation import Bound, Fixings, bound_at
from safescreen.screening import flipped
from safescreen.search.claims import (
    ROUNDING_SHARE,
    claims_without_checker,
    confirmed,
    confirmed_core,
    confirmed_list,
    rounding_matters,
)
from safescreen.search.found import FoundModels
from safescreen.search.hashing import Hashing, is_hashed
from safescreen.search.solution import Solution
from safescreen.status import Status
from safescreen.tuning import PROOF_PIECE_BYTES
from safescreen.verification import NO_THRESHOLD
from safescreen.verification.reading import SWEPT, SWEPT_ARRAYS, TREE_ARRAYS

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

_NOTHING_SWEPT = np.empty(0, np.int64)

_KINDS = (*TREE_ARRAYS, *SWEPT_ARRAYS)  # of the arrays of a chunk; those of the last kind may be missing

_PLACES = 1 << 10  # nodes that may be found again, at first


class ProofNotWrittenWarning(UserWarning):
    """A proof could not be written, say because the disk is full; the solution itself is complete."""


class ProvedList(NamedTuple):
    """What a proof says about a list of models."""

    best: Solution
    models: FoundModels  # as they are listed
    others: FoundModels  # supports met on the way whose own points say something; listed ones may be among them
    minimal: bool
    threshold: float
    missing_bound: float  # by the tree alone


class ProvedCore(NamedTuple):
    """What a proof says about a core."""

    model: Solution | Incumbent
    objective: float  # of the model, which bounds the best
    features: IndexArray
    at_least: int
    within: float
    bound: Bound  # of models that use fewer of the features


class TreeSoFar(NamedTuple):
    """The tree of a proof in the making."""

    chunks: int  # that are in the file
    rest: dict[str, AnyArray]  # what is not, as a chunk; nothing if there is none
    nodes: int  # all in all


class ProofWriter:
    """A proof file in the making.

    A disk that fails meanwhile must not cost the search its result: the failure is kept, the rest of the proof is
    dropped, and whoever gives the file its name asks for `failure` first. Nor may a proof make a search outlast its
    limit: a matrix that is not hashed by then has no fingerprint in the file, and what the checker has not confirmed
    is not claimed.

    Parameters
    ----------
    path : path-like
        Where it grows while the search runs; its name is the caller's business.
    problem : Problem
        The problem that the proof is about.
    """

    def __init__(self, path: str | os.PathLike[str], problem: Problem) -> None:
        self.problem = problem
        self.failure: OSError | None = None
        self._path = path
        self.first_number = 0  # that is left for nodes of this search
        self._file = zipfile.ZipFile(path, "w")  # stored, not compressed: dual points are noise
        self._lock = threading.Lock()
        self._pieces: list[tuple[AnyArray, ...]] = []
        self._nodes, self._chunks, self._size = 0, 0, 0
        self._has_swept = False
        self._places = np.empty(_PLACES, np.int64)  # of the nodes in the file, by their numbers in the search
        self._hashing = None if is_hashed(problem) else Hashing(problem)

    def take(self, log: ProofLog, columns: IndexArray) -> None:
        """Move what a worker has logged into the proof; its features are positions in ``columns``."""
        if self.failure is not None:
            empty_log(log)
            return
        counts = log.counts[0]
        nodes, screened, entries = int(counts["nodes"]), int(counts["screened"]), int(counts["entries"])
        if nodes == 0:
            return
        records = np.empty(nodes, NODE)
        records["parent"] = log.parent[:nodes]
        records["decision"] = _global(log.decision[:nodes], columns)
        records["screened"] = log.n_screened[:nodes]
        records["size"] = log.n_entries[:nodes]
        records["intercept"] = log.intercept[:nodes]
        decisions = _global(log.screened[:screened], columns)
        points = columns[log.feature[:entries]].astype(np.int32), log.value[:entries].copy()
        self._add(log.number[:nodes], records, decisions, *points, np.flatnonzero(log.swept[:nodes]))
        empty_log(log)

    def take_open(self, nodes: OpenNodes, columns: IndexArray) -> None:
        """Record the nodes still waiting: they are leaves with the bound of their parents."""
        waiting = nodes.heap[: nodes.counts["waiting"][0]]
        if waiting.size == 0 or self.failure is not None:
            return
        records = np.zeros(waiting.size, NODE)
        records["parent"] = nodes.parent[waiting]
        records["decision"] = _global(nodes.decision[waiting], columns)
        records["size"] = -1
        self._add(np.empty(0, np.int64), records, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))

    def take_nodes(self, numbers: IndexArray, records: AnyArray, *lists: AnyArray) -> None:
        """Append nodes: their numbers, records of `NODE`, screening decisions, features and values of points."""
        if self.failure is None:
            self._add(numbers, records, *lists)

    def begin_again(self) -> bool:
        """Forget the tree so far, since another one takes its place; whether that was possible, as on a pipe it is not.

        Nothing but the tree is in the file by now.
        """
        with self._lock, self._keeping_failure():
            if self._chunks:
                if not os.path.isfile(self._path):
                    return False
                self._file.close()
                self._file = zipfile.ZipFile(self._path, "w")
            self._pieces, self._nodes, self._chunks, self._size = [], 0, 0, 0
            self._has_swept = False
        return True

    def so_far(self) -> TreeSoFar:
        """The tree as it stands, which nothing changes that is logged later."""
        with self._lock:
            parts = zip(_KINDS, zip(*self._pieces, strict=True), strict=True) if self._pieces else ()
            rest = {kind: np.concatenate(arrays) for kind, arrays in parts}
            return TreeSoFar(self._chunks, rest, self._nodes)

    def places_of(self, numbers: IndexArray) -> IndexArray:
        """Where nodes with these numbers are in the tree; -1 stays -1."""
        return np.where(numbers < 0, -1, self._places[numbers])

    def chunk(self, number: int) -> dict[str, AnyArray]:
        """A chunk of the tree, read from the file again."""
        there = set(self._file.namelist())
        names = {kind: f"tree{number:06d}_{kind}.npy" for kind in _KINDS}
        return {kind: self._read(name) if name in there else _NOTHING_SWEPT for kind, name in names.items()}

    def take_over(self, chunks: Iterable[dict[str, AnyArray]]) -> None:
        """Begin with the tree of an earlier run, whose nodes are numbered as they lie there."""
        with self._keeping_failure():
            for chunk in chunks:
                self._append(tuple(chunk[kind] for kind in _KINDS))
        self._places = np.arange(max(self._nodes, _PLACES))
        self.first_number = self._nodes

    def is_hashed_in_time(self) -> bool:
        """Wait until the fingerprint of the matrix is at hand, or time is up; whether it is."""
        return self._hashing is None or self._hashing.is_done_in_time()

    def finish(self, solution: Solution, root: Bound, screened: IndexArray, rel_gap: float) -> None:
        """Add the model, the root and the header, which completes the file."""
        with self._keeping_failure(), grace():
            self._finish(solution, root, screened, rel_gap)

    def finish_list(self, listed: ProvedList, root: Bound, screened: IndexArray) -> None:
        """Add the best model, the list, the root and the header, which completes the file."""
        with self._keeping_failure(), grace():
            if self.failure is None:
                self._finish_list(listed, root, screened)

    def finish_core(self, proved: ProvedCore) -> None:
        """Add a core, its dual point, a model and the header, which completes the file; there is no tree.

        Where rounding matters the checker is asked what it finds, and nothing else is claimed: of badly scaled data it
        may be a smaller tolerance, or none at all.
        """
        with self._keeping_failure(), grace():
            if self.failure is not None:
                return
            header, arrays = self._contents(proved.model, proved.bound, np.empty(0, np.int32))
            header |= {"version": 3, "goal": "core", "at_least": proved.at_least, "within": proved.within}
            arrays["core"] = np.sort(proved.features)
            objective = proved.objective
            lower = proved.bound.value - ROUNDING_SHARE * objective
            try:
                if rounding_matters(self.problem, objective):
                    objective, lower = confirmed_core(self.problem, header, arrays)
            except ExpiredError:
                raise OSError("there was no room to find out what rounding leaves of it") from None
            confirmed_share = lower / objective * (1.0 - 1e-12) - 1.0 if objective > 0.0 else -1.0
            if confirmed_share < 0.0:
                raise OSError("rounding leaves nothing that a checker in double precision could confirm")
            header["within"] = min(proved.within, confirmed_share)
            header["claims"] = {"objective": objective, "lower_bound": lower}
            for name, array in arrays.items():
                self._write(name, array)
            self._write_header(header)

    def _finish(self, solution: Solution, root: Bound, screened: IndexArray, rel_gap: float) -> None:
        if self.failure is not None:
            return
        header, arrays = self._contents(solution, root, screened)
        for name, array in arrays.items():
            self._write(name, array)
        try:
            if rounding_matters(self.problem, solution.objective):
                objective, lower = confirmed(self.problem, header, arrays | self._tree())
            else:
                objective, lower = solution.objective, self._without_sharpness(solution.lower_bound, root, screened)
        except ExpiredError:
            objective, lower = claims_without_checker(self.problem, solution)
        header["claims"] = _claims(solution, objective, lower, rel_gap)
        self._write_header(header)

    def _finish_list(self, listed: ProvedList, root: Bound, screened: IndexArray) -> None:
        """The listed models come first, then the other supports."""
        best, models = listed.best, listed.models
        supports = FoundModels.joined([models, listed.others.chosen(~listed.others.among(models))])
        header, arrays = self._contents(best, root, screened)
        header |= {"version": 2, "goal": "minimal" if listed.minimal else "all", "listed": len(models)}
        header["threshold"] = min(listed.threshold, NO_THRESHOLD)
        arrays |= {
            "models_size": supports.size.astype(np.int32),
            "models_feature": supports.feature.astype(np.int32),
            "models_value": supports.value,
            "models_intercept": supports.intercept,
            "models_objective": models.objective,
        }
        for name, array in arrays.items():
            self._write(name, array)
        objective, missing = best.objective, min(listed.missing_bound, header["threshold"])
        header["claims"] = {"objective": objective, "missing_bound": missing, "status": best.status}
        try:
            if root.sharp or rounding_matters(self.problem, objective):
                objective, missing = confirmed_list(self.problem, header, arrays | self._tree())
        except ExpiredError:
            objective, trivial = claims_without_checker(self.problem, best)
            missing = min(missing, trivial)
        header["claims"] |= {"objective": max(objective, best.objective), "missing_bound": missing}
        header["claims"]["complete"] = missing >= header["threshold"]
        self._write_header(header)

    def _contents(
        self, solution: Solution | Incumbent, root: Bound, screened: IndexArray
    ) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """What every proof has but for the tree, which is written now, and its claims."""
        self._write_pieces()
        problem, design = self.problem, self.problem.design
        terms = {name: getattr(problem, name) for name in problem.terms.names()}
        decisions = {name: value for name, value in terms.items() if isinstance(value, np.ndarray)}
        arrays: dict[str, AnyArray] = {
            **decisions,
            "constant": np.flatnonzero(self._constant()),
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
            "version": SWEPT if self._has_swept else 1,
            "software": f"safescreen {__version__}",
            "n_samples": problem.n_samples,
            "n_features": problem.n_features,
            **{name: value for name, value in terms.items() if name not in decisions},
            "classes": [value.item() if hasattr(value, "item") else value for value in problem.stated_classes],
            "matrix_form": design.form,
            "fingerprint": {"matrix": None, **problem.fingerprint_of_samples},
            "intercept": solution.intercept,
            "chunks": self._chunks,
        }
        return header, arrays

    def _write_header(self, header: dict[str, Any]) -> None:
        """The last member, which completes the file; the matrix is hashed while all else is written."""
        if self._hashing is None or self._hashing.is_done_in_time():
            header["fingerprint"]["matrix"] = self.problem.design.fingerprint
        self._write("header", np.frombuffer(json.dumps(header, default=str).encode(), np.uint8))
        self._file.close()

    def _constant(self) -> BoolArray:
        """Which columns are constant; with them, means and scales are known."""
        try:
            return self.problem.design.constant
        except ExpiredError:
            raise TimeoutError("time was up before every column had been looked at: nothing is proved yet") from None

    def _without_sharpness(self, lower: float, root: Bound, screened: IndexArray) -> float:
        """The lower bound with no more digits than ordinary sums of products have, where the root's has more."""
        if not root.sharp:
            return lower
        fixings = Fixings.given(self.problem)
        ordinary = bound_at(self.problem, fixings, root.dual)
        _, raised = flipped(ordinary, fixings)
        screened_away = float(raised[np.abs(screened) - 1].min(initial=np.inf))
        return min(lower, ordinary.value if lower <= root.value else max(ordinary.value, screened_away))

    def _tree(self) -> dict[str, AnyArray]:
        """The chunks of the tree, read from the file again."""
        names = [name for name in self._file.namelist() if name.startswith("tree")]
        return {name.removesuffix(".npy"): self._read(name) for name in names}

    def _read(self, name: str) -> AnyArray:
        with self._file.open(name) as member:
            return np.lib.format.read_array(member, allow_pickle=False)

    def __enter__(self) -> ProofWriter:
        return self

    def __exit__(self, *failure: object) -> None:
        """Close the file, finished or not, whatever stands in the way."""
        if self._hashing is not None:
            self._hashing.give_up()
        with suppress(OSError, ValueError):
            self._file.close()

    def _add(
        self,
        numbers: IndexArray,
        records: AnyArray,
        screened: AnyArray,
        features: AnyArray,
        values: AnyArray,
        swept: AnyArray = _NOTHING_SWEPT,
    ) -> None:
        """Append nodes whose parents are in the file already or among them; only numbered ones may be parents."""
        with self._lock:
            if numbers.size and numbers[-1] >= self._places.size:
                self._places = np.resize(self._places, 2 * int(numbers[-1]))
            self._places[numbers] = self._nodes + np.arange(numbers.size)
            parent = records["parent"]
            records["parent"] = np.where(parent < 0, -1, self._places[parent])
            with self._keeping_failure():
                self._append((records, screened, features, values, self._nodes + swept))

    def _append(self, piece: tuple[AnyArray, ...]) -> None:
        """Append nodes as they are to be written, which is done once there are many."""
        self._pieces.append(piece)
        self._has_swept = self._has_swept or piece[-1].size > 0
        self._nodes += piece[0].size
        self._size += sum(array.nbytes for array in piece)
        if self._size >= PROOF_PIECE_BYTES:
            self._write_pieces()

    @contextmanager
    def _keeping_failure(self) -> Iterator[None]:
        """Keep what goes wrong with the file for later, and drop what cannot be written."""
        try:
            yield
        except OSError as error:
            self.failure = self.failure or error
            self._pieces, self._size = [], 0

    def _write(self, name: str, array: AnyArray) -> None:
        """Append an array as ``numpy.savez`` would."""
        with self._file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)

    def _write_pieces(self) -> None:
        """Write what has gathered as one chunk of the tree."""
        if not self._pieces:
            return
        for kind, parts in zip(_KINDS, zip(*self._pieces, strict=True), strict=True):
            array = np.concatenate(parts)
            if kind in TREE_ARRAYS or array.size:
                self._write(f"tree{self._chunks:06d}_{kind}", array)
        self._chunks += 1
        self._pieces, self._size = [], 0


def _claims(solution: Solution, objective: float, lower: float, rel_gap: float) -> dict[str, Any]:
    """What a checker in double precision can confirm, given what it finds."""
    objective, lower, status = max(solution.objective, objective), min(solution.lower_bound, lower), solution.status
    if status == Status.OPTIMAL and objective - lower > rel_gap * objective:
        status = Status.NUMERICAL_LIMIT
    return {"objective": objective, "lower_bound": lower, "status": status, "rel_gap": float(rel_gap)}


def _global(decisions: AnyArray, columns: IndexArray) -> AnyArray:
    """Decisions about positions in ``columns`` (maybe none) as decisions about features; 0 stays 0."""
    features = np.append(columns, -1)[np.abs(decisions) - 1] + 1
    return np.asarray(np.sign(decisions) * features, dtype=np.int32)
