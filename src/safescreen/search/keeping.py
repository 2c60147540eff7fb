"""Checkpoints of a search: which file, how often, and what becomes of it when a run ends or begins."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np

from safescreen.arrays import AnyArray
from safescreen.expiry import ExpiredError, expiring, grace
from safescreen.problem import Problem
from safescreen.problem.validation import about, check_flag, check_positive, check_target
from safescreen.search.branch_and_bound import Search
from safescreen.search.checkpoint import CheckpointFile, write_checkpoint
from safescreen.search.crew import Rest
from safescreen.search.hashing import Hashing, is_hashed
from safescreen.search.interrupts import Interrupts
from safescreen.search.proof_writer import ProofWriter
from safescreen.search.saved import saved_from, snapshot_from
from safescreen.search.settings import Settings
from safescreen.search.snapshot import Snapshot, Tree, taken, tree_of
from safescreen.status import Status
from safescreen.text import brief
from safescreen.verification.reading import Header, RefusedError
from safescreen.working_memory import within

LARGEST_SHARE = 0.1
"""The share of a run that may be spent on writing checkpoints: with a large tree they come more rarely."""


class CheckpointNotWrittenWarning(UserWarning):
    """A checkpoint could not be written, say because the disk is full; the search goes on, and the last one is kept."""


@dataclass(frozen=True)
class Keeping:
    """What is to be kept of a search, and where."""

    path: str | os.PathLike[str]
    every: float
    resume: bool


def check_checkpoint(checkpoint: Any, checkpoint_every: Any, resume: Any, proof: Any = None) -> Keeping | None:
    """What is asked for, if that makes sense; None if nothing is."""
    resume = check_flag("resume", resume)
    every = check_positive("checkpoint_every", checkpoint_every)
    if checkpoint is None:
        if resume:
            raise about("resume", ValueError("resume is True, but checkpoint is None: name the file to go on from."))
        return None
    check_target("checkpoint", checkpoint)
    if proof is not None and os.path.realpath(proof) == os.path.realpath(checkpoint):
        raise about("checkpoint", ValueError(f"checkpoint is {os.fspath(checkpoint)!r}, but that is the proof's file."))
    return Keeping(checkpoint, every, resume)


class Resumed(NamedTuple):
    """A checkpoint to go on from, and its file, which has the tree of a proof."""

    snapshot: Snapshot
    file: CheckpointFile


@contextmanager
def resumed(
    keeping: Keeping | None, problem: Problem, settings: Settings, proof: bool, interrupts: Interrupts
) -> Iterator[Resumed | None]:
    """The checkpoint to go on from, if that is asked for and there is one; whatever is not right about it is refused.

    Its digests, the matrix and the root's bound are looked at before any clock starts.
    """
    if keeping is None or not keeping.resume or not os.path.isfile(keeping.path):
        yield None
        return
    with open(keeping.path, "rb") as file:
        try:
            with expiring(lambda: interrupts.requested), within(settings.memory_limit):
                found = _read(file, problem, settings, proof)
        except RefusedError as refusal:
            _refuse(keeping, str(refusal))
        except ExpiredError:
            raise KeyboardInterrupt from None  # nothing is lost: the file is there
        except (OSError, MemoryError):
            raise
        except Exception as error:  # whatever a broken or malicious file can trigger
            _refuse(keeping, f"it cannot be read ({type(error).__name__}: {' '.join(str(error).split())})")
        yield found


def _read(file: IO[bytes], problem: Problem, settings: Settings, proof: bool) -> Resumed:
    checkpoint = _opened(file)
    header = checkpoint.header
    _compare(header, problem, settings)
    if proof and header["numbers"]["has_tree"] and header["numbers"]["chunks"] is None:
        raise RefusedError("it was written without a proof, so that a proof cannot be completed")
    return Resumed(snapshot_from(checkpoint.saved, problem), checkpoint)


def _opened(file: IO[bytes]) -> CheckpointFile:
    """The file, with nothing wrong in it, the tree of a proof included."""
    try:
        checkpoint = CheckpointFile(file)
        for _ in checkpoint.chunks():
            pass
    except OSError as error:  # also where it leads a reader astray
        raise RefusedError(f"it cannot be read ({error})") from error
    return checkpoint


def _compare(header: Header, problem: Problem, settings: Settings) -> None:
    """Refuse a checkpoint of another problem, or of a search that another one cannot be continued with."""
    for name, value in _stated(problem).items():
        stated = header["problem"].get(name)
        if type(stated) is not type(value) or stated != value:
            told = f"its {name} is {brief(stated)}, not {brief(value)}" if name in _TOLD else f"its {name} differ"
            raise RefusedError(f"it belongs to another problem ({told})")
    if header["problem"].get("matrix") != problem.fingerprint["matrix"]:
        raise RefusedError("it belongs to another problem (its matrix differs)")
    if header["screening"] != settings.screening:
        raise RefusedError(f"it was written with screening={header['screening']!r}, not {settings.screening!r}")
    if header["rel_gap"] > settings.rel_gap:
        raise RefusedError(f"nodes were pruned at rel_gap={header['rel_gap']:g} there, which is more than rel_gap now")


_TOLD = ("n_samples", "n_features", "matrix_form", "loss", "mu", "k", "gamma", "fit_intercept", "standardize")


def _stated(problem: Problem) -> dict[str, Any]:
    """What a problem is known by but for its matrix, which takes long to hash."""
    terms = {name: getattr(problem, name) for name in problem.terms.names()}
    stated = {"n_samples": problem.n_samples, "n_features": problem.n_features, "matrix_form": problem.design.form}
    stated |= {"loss": type(problem.loss).__name__}
    stated |= {name: _hash(value) if isinstance(value, np.ndarray) else value for name, value in terms.items()}
    return stated | {"labels": _hash(problem.y.astype(np.int8)), "weights": _hash(problem.weights)}


def _hash(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def _refuse(keeping: Keeping, reason: str) -> NoReturn:
    must = "give another file, or begin anew without resume."
    sentence = f"checkpoint is {os.fspath(keeping.path)!r}, but {reason.rstrip('.')}: {must}"
    raise about("checkpoint", ValueError(sentence)) from None


class Keeper:
    """Writes checkpoints of a search.

    A disk that fails meanwhile must not cost the search its result: the first failure is told, the last checkpoint
    that was complete is kept, and the next one is tried in time.

    Parameters
    ----------
    keeping : Keeping
        File and interval.
    problem : Problem
        The problem, whose matrix is hashed beside the search.
    settings : Settings
        What another run must have in common with this one.
    proof : ProofWriter, optional
        The proof that is written.
    goes_on : bool
        Whether there is an earlier checkpoint, which is as good as one without anything new.
    """

    def __init__(
        self,
        keeping: Keeping,
        problem: Problem,
        settings: Settings,
        proof: ProofWriter | None,
        goes_on: bool,
    ) -> None:
        self._keeping, self._problem, self._settings, self._proof = keeping, problem, settings, proof
        self._goes_on = goes_on
        self._hashing = Hashing(problem) if proof is None and not is_hashed(problem) else None
        self._tree: Tree | None = None
        self._next, self._told = perf_counter() + keeping.every, False

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint, and the matrix is hashed."""
        return perf_counter() >= self._next and is_hashed(self._problem)

    def keep(self, search: Search, rest: Rest) -> None:
        """Write a checkpoint of a search at rest."""
        self.hold(search, rest)
        self._write(taken(search, self._tree))

    def hold(self, search: Search, rest: Rest) -> None:
        """Remember the tree, for the last checkpoint, before its open nodes become leaves of the proof."""
        if search.crew is not None:
            self._tree = tree_of(search, search.crew.columns, rest)

    def finish(self, search: Search, status: Status) -> None:
        """Write the last checkpoint of a run, also of one that is finished.

        Where there was no tree, since a limit was hit or nothing was left to do, an earlier file is left alone.
        """
        if not search.can_be_kept:
            self._tell("its columns are too many to be held")
            return
        if self._tree is None and (self._goes_on or status is not Status.OPTIMAL):
            return
        if self._is_hashed_in_time():
            self._write(taken(search, self._tree))
        else:
            self._tell("the matrix was not hashed yet when time was up")

    def _is_hashed_in_time(self) -> bool:
        with grace():
            if self._proof is not None:
                return self._proof.is_hashed_in_time()
            return self._hashing is None or self._hashing.is_done_in_time()

    def _write(self, snapshot: Snapshot) -> None:
        start = perf_counter()
        if self._proof is None or self._proof.failure is not None:
            snapshot = snapshot.without_proof()
        stated = {
            "problem": {**_stated(self._problem), "matrix": self._problem.fingerprint["matrix"]},
            "screening": self._settings.screening,
            "rel_gap": self._settings.rel_gap,
        }
        try:
            write_checkpoint(self._keeping.path, stated, saved_from(snapshot), self._chunks(snapshot))
        except OSError as error:
            reason = (error.strerror or str(error)).rstrip(".")
            self._tell(reason[:1].lower() + reason[1:])
        now = perf_counter()
        self._next = now + max(self._keeping.every, (now - start) * (1.0 / LARGEST_SHARE - 1.0))

    def _chunks(self, snapshot: Snapshot) -> Iterator[dict[str, AnyArray]]:
        """The tree of the proof, as far as it belongs to the snapshot, read from the proof's own file."""
        if self._proof is not None and snapshot.tree is not None and snapshot.tree.logged is not None:
            logged = snapshot.tree.logged
            for number in range(logged.chunks):
                yield self._proof.chunk(number)
            if logged.rest:
                yield logged.rest

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told = True
            warnings.warn(
                f"The checkpoint {os.fspath(self._keeping.path)!r} was not written ({reason}); the search does "
                "without. A file of that name, if there is one, is older.",
                CheckpointNotWrittenWarning,
                stacklevel=2,
            )

    def close(self) -> None:
        """Hash no further."""
        if self._hashing is not None:
            self._hashing.give_up()


@contextmanager
def kept(
    keeping: Keeping | None,
    problem: Problem,
    settings: Settings,
    proof: ProofWriter | None,
    earlier: Resumed | None,
) -> Iterator[Keeper | None]:
    """Whoever writes checkpoints, if they are asked for."""
    if keeping is None:
        yield None
        return
    with closing(Keeper(keeping, problem, settings, proof, earlier is not None)) as keeper:
        yield keeper
