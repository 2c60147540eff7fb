"""Branch and bound: limits, incumbents, progress and threads around the compiled exploration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from safescreen import kernels
from safescreen.bounds import Fixings
from safescreen.certificate import Proof
from safescreen.incumbents import SEARCH_GAP, Incumbent, first_incumbent, improve, kick, polish
from safescreen.interrupts import Interrupts
from safescreen.problem import Problem, check_problem
from safescreen.progress import Progress
from safescreen.relaxation import Root, solve_root
from safescreen.solution import Moment, Solution, TracePoint, relative_gap
from safescreen.status import Status
from safescreen.validation import about
from safescreen.workers import Worker, make_workers

SCREENINGS = ("none", "root", "nodes")
_ALLOWANCE = 400_000_000  # arithmetic between two looks at clock and keyboard: some hundredths of a second
_NO_LIMIT = 2**62
_KICK_GAP = 0.01  # while the gap is wider, local searches start from perturbed models,
_KICK_SHARE = 0.2  # as long as they take no more than this part of the work,
_FIRST_KICK = 3  # from so many rounds on
_WORTH_A_LOOK = 16  # nodes after which a last local search costs little in comparison,
_ROOM = 1e-5  # and the gap above which it may find something
_SMALL_BLOCK = 500_000  # entries of which a second copy beside the search takes little memory
_LONG_SEARCH = 1_000  # nodes after which it may try hard, and be made on the way


@dataclass(frozen=True)
class Settings:
    """How far to go, and how."""

    rel_gap: float = 1e-4
    time_limit: float | None = None
    node_limit: int | None = None
    screening: str = "nodes"
    n_threads: int = 1

    def checked(self) -> Settings:
        """The same settings, if they make sense."""
        if not (_is_number(self.rel_gap) and 0.0 <= self.rel_gap < 1.0):
            raise about("rel_gap", ValueError(f"rel_gap is {self.rel_gap!r}, but must be a number >= 0 and < 1."))
        if self.time_limit is not None and not (_is_number(self.time_limit) and self.time_limit >= 0.0):
            raise about(
                "time_limit",
                ValueError(f"time_limit is {self.time_limit!r}, but must be None or a number of seconds >= 0."),
            )
        if self.node_limit is not None and not (_is_count(self.node_limit) and self.node_limit >= 0):
            raise about(
                "node_limit", ValueError(f"node_limit is {self.node_limit!r}, but must be None or an integer >= 0.")
            )
        if self.screening not in SCREENINGS:
            raise about(
                "screening",
                ValueError(f"screening is {self.screening!r}, but must be one of 'none', 'root' and 'nodes'."),
            )
        if not (_is_count(self.n_threads) and self.n_threads >= 1):
            raise about("n_threads", ValueError(f"n_threads is {self.n_threads!r}, but must be an integer >= 1."))
        return self


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def solve(
    problem: Problem,
    *,
    rel_gap: float = 1e-4,
    time_limit: float | None = None,
    node_limit: int | None = None,
    screening: str = "nodes",
    n_threads: int = 1,
    warm_start: Any = None,
    progress: bool = False,
    proof: str | PathLike[str] | None = None,
    callback: Callable[[Moment], bool | None] | None = None,
) -> Solution:
    """Find a provably optimal model, or the best one within the limits and how far from optimal it can be.

    Parameters
    ----------
    problem : Problem
        The problem.
    rel_gap : float, default 1e-4
        Stop once ``(objective - lower_bound) / |objective|`` is at most this.
    time_limit : float, optional
        Seconds, compilation excluded.
    node_limit : int, optional
        Nodes of the search tree.
    screening : {"nodes", "root", "none"}
        Screen at the root and in every node, at the root only (the paper's method), or not at all.
    n_threads : int, default 1
        Threads that explore the tree. One thread takes the same path every time.
    warm_start : Solution or array of shape (n_features,), optional
        A model whose support is tried first.
    progress : bool, default False
        Show a status line on standard error.
    proof : str or path-like, optional
        Write a proof to this file, for :func:`safescreen.verify` or any other checker. A search that ends early leaves
        a valid proof of the gap it reached.
    callback : callable, optional
        Called with a :class:`Moment` a few dozen times a second; returning True ends the search.

    Returns
    -------
    Solution
        The model with its objective, a safe lower bound, the status and a trace of the search. Ctrl-C ends the search
        early and returns the best model so far.

    Examples
    --------
    >>> import safescreen as ss
    >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 50, 3, 1.0, random_state=0)
    >>> ss.solve(ss.Problem(X, y, k=3)).status
    'optimal'
    """
    settings = Settings(rel_gap, time_limit, node_limit, screening, n_threads).checked()
    check_problem(problem)
    candidate = _warm_support(problem, warm_start)
    kernels.warm_up()
    with Interrupts() as interrupts, Progress(progress) as display, _proof(proof, problem) as writer:
        start = perf_counter()

        def expired() -> bool:
            late = settings.time_limit is not None and perf_counter() - start > settings.time_limit
            return late or interrupts.requested

        root = solve_root(problem, max(1e-10, 1e-3 * settings.rel_gap))
        incumbent = first_incumbent(problem, root, expired)
        if candidate is not None:
            incumbent = min(incumbent, polish(problem, *candidate), key=lambda model: model.objective)
        search = Search(problem, root, incumbent, settings, start, interrupts, display, callback, writer)
        solution = search.solution(search.run())
        if writer is not None:
            writer.finish(solution, root.bound, search.screened, settings.rel_gap)
    return solution


@contextmanager
def _proof(path: str | PathLike[str] | None, problem: Problem) -> Iterator[Proof | None]:
    """The proof to write, if any; whatever goes wrong, no unfinished file is left behind."""
    proof = None if path is None else Proof(path, problem)
    try:
        yield proof
    except BaseException:
        if proof is not None:
            proof.abandon()
        raise


def _warm_support(
    problem: Problem, warm_start: Any
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], float] | None:
    """The support a warm start proposes, made to respect what the user decided."""
    if warm_start is None:
        return None
    coef = np.asarray(getattr(warm_start, "coef", warm_start), dtype=np.float64)
    if coef.shape != (problem.n_features,) or not np.isfinite(coef).all():
        raise ValueError(
            f"warm_start has coefficients of shape {coef.shape}, but a solution or finite numbers of shape "
            f"({problem.n_features},) are needed."
        )
    x = coef * problem.design.scales
    size = np.abs(x)
    size[problem.excluded] = 0.0
    size[problem.included] = np.inf
    order = np.argsort(-size, kind="stable")[: problem.k]
    return np.sort(order[size[order] > 0.0]), x, 0.0


class Search:
    """One search: workers, the best model so far, and the proof's progress."""

    def __init__(
        self,
        problem: Problem,
        root: Root,
        incumbent: Incumbent,
        settings: Settings,
        start: float | None = None,
        interrupts: Interrupts | None = None,
        display: Progress | None = None,
        callback: Callable[[Moment], bool | None] | None = None,
        proof: Proof | None = None,
    ) -> None:
        self.problem = problem
        self.root = root
        self.incumbent = incumbent
        self.settings = settings
        self.start = perf_counter() if start is None else start
        self.interrupts = interrupts if interrupts is not None else Interrupts()
        self.display = display if display is not None else Progress(False)
        self.callback = callback
        self.proof = proof
        self.screened = np.empty(0, np.int64)  # what the root's dual point has decided, as ±(feature + 1)
        self.workers: list[Worker] = []
        self._explored = 0
        self.lower_bound = root.bound.value
        self.trace: list[TracePoint] = []
        self._columns = np.empty(0, np.int64)
        self._rounds, self._kick_work = 0, 0
        self._next_look = _LONG_SEARCH
        self._looked_at: Incumbent | None = None
        # a hair stricter than asked, so that rounding in the objective and the gap itself cannot miss the request
        self._rel_gap = max(settings.rel_gap * (1.0 - 1e-6) - 1e-13 - 4.0 * incumbent.rounding, 0.0)

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    @property
    def nodes(self) -> int:
        """Nodes explored."""
        return self._explored + sum(int(worker.totals.counts[0]) for worker in self.workers)

    @property
    def open_nodes(self) -> int:
        """Nodes waiting."""
        return sum(worker.open_nodes for worker in self.workers)

    def run(self) -> Status:
        """Search until the gap is closed or a limit is hit; returns the status."""
        status = self._run()
        self._close_tree()
        return status

    def _run(self) -> Status:
        stopped = self._record()
        if self._gap() <= self.settings.rel_gap:
            return Status.OPTIMAL
        status = Status.INTERRUPTED if stopped else self._limit()
        if status is not None:
            return status
        self._prepare()
        with ThreadPoolExecutor(self.settings.n_threads) as pool:
            while self.open_nodes > 0:
                self._explore(pool)
                self._update()
                stopped = self._record()
                if self._gap() <= self.settings.rel_gap:
                    break
                status = Status.INTERRUPTED if stopped else self._limit()
                if status is not None:
                    return status
        self._close_tree()  # the memory of the workers is not needed any more
        if self.nodes > _WORTH_A_LOOK and self._gap() > _ROOM and self.incumbent is not self._looked_at:
            self.incumbent = self._look_around()
            self.lower_bound = min(self.lower_bound, self.incumbent.objective)
            self._record()
        return Status.OPTIMAL if self._gap() <= self.settings.rel_gap else Status.NUMERICAL_LIMIT

    def _close_tree(self) -> None:
        """Complete the proof of the tree, keep what the root has decided in it, and dismiss the workers."""
        for worker in self.workers:
            worker.hand_in_rest()
            used = np.flatnonzero(worker.totals.used)
            sign = np.where(worker.totals.raise_in[used] > -np.inf, -1, 1)
            self.screened = np.union1d(self.screened, sign * (self._columns[used] + 1))
        self._explored, self.workers = self.nodes, []

    def solution(self, status: Status) -> Solution:
        """The best model with all that is known about it."""
        problem, incumbent = self.problem, self.incumbent
        return Solution(
            coef=incumbent.coef,
            intercept=incumbent.intercept,
            support=incumbent.support,
            objective=incumbent.objective,
            lower_bound=self.lower_bound,
            status=status,
            nodes=self.nodes,
            seconds=perf_counter() - self.start,
            trace=self.trace,
            problem=problem,
            root=None if self.settings.screening == "none" else self.root.bound,
        )

    def _prepare(self) -> None:
        """Screen at the root and set up the workers on what is left."""
        fixings = Fixings(self.problem.included, self.problem.excluded)
        if self.settings.screening != "none":
            given, fixings = fixings, self.root.bound.decide(fixings, self.incumbent.objective)
            included = np.flatnonzero(fixings.included & ~given.included)
            excluded = np.flatnonzero(fixings.excluded & ~given.excluded)
            self.screened = np.concatenate([included + 1, -1 - excluded])
        self._columns = np.flatnonzero(~fixings.excluded)
        upper = self.incumbent.objective
        self.workers = make_workers(
            self.problem, self.root, fixings, upper, self._columns, self.settings.n_threads, self.proof
        )

    def _explore(self, pool: ThreadPoolExecutor) -> None:
        """Let every worker with open nodes explore for a while, sharing the nodes out first."""
        self._share()
        busy = [worker for worker in self.workers if worker.open_nodes > 0]
        self.workers[0].totals.stop[0] = 0
        limit = self.settings.node_limit
        nodes = _NO_LIMIT if limit is None else max(limit - self.nodes, 0)
        screen_nodes = self.settings.screening == "nodes"
        if len(busy) == 1:
            few = self.settings.n_threads > 1 and self.open_nodes < 8 * self.settings.n_threads
            busy[0].explore(self._rel_gap, screen_nodes, nodes, _ALLOWANCE // 1000 if few else _ALLOWANCE)
            return
        share = -(-nodes // len(busy))
        tasks = [pool.submit(worker.explore, self._rel_gap, screen_nodes, share, _ALLOWANCE) for worker in busy]
        for task in tasks:
            task.result()

    def _share(self) -> None:
        """Give idle workers half of the busiest one's nodes."""
        for worker in self.workers:
            richest = max(self.workers, key=lambda other: other.open_nodes)
            if worker.open_nodes == 0 and richest.open_nodes >= 8:
                richest.hand_over(worker)

    def _update(self) -> None:
        """Take over better models and the new lower bound."""
        for worker in self.workers:
            worker.hand_in_log()
            if worker.totals.best[0] < self.incumbent.objective:
                support = self._columns[worker.totals.support]
                self._adopt(polish(self.problem, support, self.incumbent.x, self.incumbent.b))
                worker.totals.best[0] = np.inf
        small = self._columns.size * self.problem.n_samples <= _SMALL_BLOCK
        if small and self.nodes >= self._next_look and self._gap() > _ROOM and self.incumbent is not self._looked_at:
            self._next_look = 8 * self.nodes
            self._adopt(self._look_around())
        self._rounds += 1
        affordable = self._kick_work < _KICK_SHARE * (self._rounds - _FIRST_KICK) * _ALLOWANCE
        if affordable and self._gap() > _KICK_GAP and not self._expired():
            model, work = kick(self.problem, self.incumbent, self.root, self._expired, self._rng)
            self._kick_work += work
            self._adopt(model)
        bound = min(worker.lower_bound for worker in self.workers)
        self.lower_bound = min(max(self.lower_bound, bound), self.incumbent.objective)

    def _look_around(self) -> Incumbent:
        """The best model next door to the incumbent: within the gap there may be a better one."""
        refits = min(self.nodes / 2, 100 + self.nodes / 20)
        hard = self.nodes >= _LONG_SEARCH
        self._looked_at = improve(self.problem, self.incumbent, self.root, self._expired, refits=refits, hard=hard)
        return self._looked_at

    def _adopt(self, model: Incumbent) -> None:
        if model.objective < self.incumbent.objective:
            if model.objective - self.lower_bound > SEARCH_GAP * model.objective:
                model = improve(self.problem, model, self.root, self._expired)
            self.incumbent = model
        upper = self.workers[0].totals.upper
        upper[0] = min(upper[0], self.incumbent.objective)

    def _expired(self) -> bool:
        return self._limit() is not None

    def _gap(self) -> float:
        return relative_gap(self.incumbent.objective, self.lower_bound)

    def _limit(self) -> Status | None:
        settings = self.settings
        if self.interrupts.requested:
            return Status.INTERRUPTED
        if settings.time_limit is not None and perf_counter() - self.start >= settings.time_limit:
            return Status.TIME_LIMIT
        if settings.node_limit is not None and self.nodes >= settings.node_limit:
            return Status.NODE_LIMIT
        return None

    def _record(self) -> bool:
        """Note where the search stands, show it, and ask the callback whether to stop."""
        seconds = perf_counter() - self.start
        upper = self.incumbent.objective
        self.trace.append(TracePoint(seconds, self.nodes, self.lower_bound, upper))
        moment = Moment(
            seconds, self.nodes, self.open_nodes, self.lower_bound, upper, self._gap(), self.incumbent.support.size
        )
        self.display.show(moment)
        return bool(self.callback(moment)) if self.callback is not None else False
