"""A crew of threads that never wait for each other: who runs dry is given nodes by whoever has most of them.

One worker begins alone, in the thread of the search. Once there are nodes to share and the tree has proved not to be
tiny, every worker has a thread, and more workers are made as nodes become available. Each explores, reports, and
explores again. One that runs dry is promised a share of the nodes of another, which is called back for it alone and
gives them away as soon as its node at hand is done. The thread of the search meanwhile looks at clock and keyboard.

Whatever is read or written by several threads is guarded by one lock, except for the record of the best objective and
the flag that calls a worker back (see `safescreen.kernels.exploration`). What a worker has open belongs to its thread
while it is busy. A share that is on its way still counts as the giver's: its bound, from before, covers it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import TracebackType

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.expiry import SECONDS_BETWEEN_LOOKS
from safescreen.incumbents import Incumbent
from safescreen.kernels import Orders, Subproblem
from safescreen.kernels.open_nodes import (
    OpenNodes,
    arrange,
    count_waiting,
    first_layer,
    joined,
    smallest_bound,
    taken_out,
)
from safescreen.kernels.outward import BEST_BOUND_FIRST, Order
from safescreen.kernels.patience import halt
from safescreen.search.crew import Rest
from safescreen.search.explorer import Report
from safescreen.search.found import FoundModels
from safescreen.search.workers import Worker, Workshop
from safescreen.tuning import (
    ALONE_ROUNDS,
    ALONE_SECONDS,
    LEVEL_SHARE,
    MOST_GIVEN,
    MOST_LEVELLED,
    MOST_NODES_WORTH_GIVING,
    SECONDS_BETWEEN_MATCHES,
    SECONDS_OF_A_ROUND,
    SECONDS_WORTH_GIVING,
)


class _Member:
    """A worker of the crew, what it has reported, and what it is asked for."""

    def __init__(self, worker: Worker, lock: threading.Lock) -> None:
        self.worker = worker
        self.wake = threading.Condition(lock)
        self.bound = worker.lower_bound  # of anything open or closed, at the latest report
        self.nodes = 0  # explored by then
        self.granted = 0  # nodes that may be explored until the next one
        self.busy = False  # exploring, reporting or giving
        self.giving = False
        self.best = np.inf  # bound of the best open node, then
        self.layer = first_layer(worker.open_nodes, 0)  # the first one open, then, in the order with this number
        self.number = 0
        self.closed = np.inf  # the smallest bound of anything closed, then
        self.promised = False  # somebody has been called back for it; nodes will be put among its own
        self.heirs: list[_Member] = []  # who is to get nodes
        self.lagging: list[_Member] = []  # who is to get better nodes than they have
        self.inbox: list[OpenNodes] = []  # nodes it was given while it was busy
        self.expects = False  # some of these

    @property
    def is_dry(self) -> bool:
        """Whether it has nothing to do, and nothing to hope for."""
        return not (self.busy or self.promised or self.inbox) and self.worker.waiting == 0

    def publish(self) -> None:
        """Let the others know where it stands; what is in its inbox is its own."""
        self.best = min(map(smallest_bound, [self.worker.open_nodes, *self.inbox]))
        self.bound, self.nodes = min(self.best, self.worker.closed_bound), self.worker.nodes
        self.number, self.closed = int(self.worker.open_nodes.counts["order"][0]), self.worker.closed_bound
        self.layer = min(first_layer(nodes, self.number) for nodes in [self.worker.open_nodes, *self.inbox])

    def first_layer(self, number: int, cutoff: float) -> float:
        """The first layer of the order with this number that it has open, by its latest report; 0 if not known."""
        known = self.closed >= cutoff and (self.number == number or self.layer == np.inf)
        return self.layer if known else 0.0

    def empty_inbox(self) -> None:
        """Put nodes it was given among its own, unless somebody else does that just now."""
        if self.inbox and not self.promised:
            for nodes in self.inbox:
                self.worker.open_nodes = joined(self.worker.open_nodes, nodes)
            self.inbox, self.expects = [], False
            self.publish()


class Threads:
    """Workers in threads of one process.

    Parameters
    ----------
    workshop : Workshop
        Where workers are made.
    expired : callable
        Whether time is up.
    """

    def __init__(self, workshop: Workshop, expired: Callable[[], bool]) -> None:
        self._workshop, self._expired = workshop, expired
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)  # for the thread of the search
        self._members = [_Member(workshop.first_worker(), self._lock)]
        self._threads: list[threading.Thread] = []
        self._data: list[Subproblem] = []  # for workers to come
        self._upper, self._last = np.inf, 0  # the best objective known, and the number of the last node to explore
        self._orders: Orders | None = None
        self._order = BEST_BOUND_FIRST
        self._resting = self._dismissed = False
        self._failure: BaseException | None = None
        self._seconds, self._rounds_alone = 0.0, 0

    @property
    def columns(self) -> IndexArray:
        """The columns that the search is about."""
        return self._workshop.columns

    @property
    def size(self) -> int:
        """How many may explore at the same time."""
        return self._workshop.most

    @property
    def nodes(self) -> int:
        """Nodes explored, by the latest reports."""
        with self._lock:
            return self._nodes()

    def _nodes(self) -> int:
        return sum(member.nodes for member in self._members)

    @property
    def open_nodes(self) -> int:
        """Nodes waiting, about; zero only when the tree is explored."""
        with self._lock:
            return sum(self._waiting(member) for member in self._members)

    @staticmethod
    def _waiting(member: _Member) -> int:
        """Open nodes of a member, with the one at hand while it is busy."""
        own = member.worker.explorer.waiting + 1 if member.busy else member.worker.waiting
        return own + sum(map(count_waiting, member.inbox))

    @property
    def lower_bound(self) -> float:
        """The smallest bound of anything open or closed, by the latest reports."""
        with self._lock:
            return min(member.bound for member in self._members)

    def first_layer(self, order: Order, cutoff: float) -> float:
        """The first layer of this order with anything open below the cutoff, by the latest reports; 0 if not known."""
        with self._lock:
            return min(member.first_layer(order.number, cutoff) for member in self._members)

    # -- the thread of the search -----------------------------------------------------------------------------

    @property
    def can_begin_again(self) -> bool:
        """Whether the root node is at hand."""
        return self._members[0].worker.root is not None

    def begin_again(self) -> None:
        """Drop all open nodes for the root, while everybody rests."""
        with self._lock:
            for member in self._members:
                member.worker.begin_again()
                member.publish()

    def arrange(self, order: Order) -> None:
        """Take open nodes in this order from now on: everybody puts their own in it before they explore again."""
        with self._lock:
            self._order = order

    def next_door(self, order: Order, model: Incumbent) -> None:
        """There is but the tree they explore."""

    def explore(self, upper: float, orders: Orders) -> None:
        """Let everybody explore for a while, and look after them; they go on afterwards."""
        if not self._threads:
            if self._is_better_alone():
                self._explore_alone(upper, orders)
                return
            self._data = self._workshop.subproblems(self.size - 1)
        until = perf_counter() + SECONDS_OF_A_ROUND
        with self._lock:
            self._upper, self._orders, self._last = upper, orders, orders.node_limit
            shared = self._workshop.shared
            shared["upper"] = min(float(shared["upper"][0]), upper)
            self._resting = False
            if not self._threads:
                self._start(self._members[0])
            self._wake_all()
            while self._failure is None and self._is_under_way() and not self._expired():
                self._hire()
                self._match()
                pause = until - perf_counter()
                if pause <= 0.0:
                    self._level()
                    break
                all_busy = len(self._members) == self.size and all(member.busy for member in self._members)
                self._news.wait(pause if all_busy else min(pause, SECONDS_BETWEEN_MATCHES))
        self._raise_failure()

    def _is_better_alone(self) -> bool:
        """Whether threads would cost more than they are worth, as far as one can see."""
        worker = self._members[0].worker
        return not worker.is_long and (self._seconds < ALONE_SECONDS or worker.waiting < 2.0 * self._enough())

    def _explore_alone(self, upper: float, orders: Orders) -> None:
        """A short round in this thread, the next one twice as long."""
        member, begin = self._members[0], perf_counter()
        allowance = min(max(orders.allowance // ALONE_ROUNDS, 1) << min(self._rounds_alone, 30), orders.allowance)
        self._rounds_alone += 1
        arrange(member.worker.open_nodes, self._order)
        member.worker.explore(upper, orders._replace(allowance=allowance))
        member.worker.flush_list()
        member.publish()
        self._seconds += perf_counter() - begin

    def collect_model(self, upper: float) -> IndexArray | None:
        """The support of the best model found since the last time, if it is better than ``upper``."""
        with self._lock:
            best = min((member.worker for member in self._members), key=lambda worker: worker.best[0])
            return best.collect_model(upper)

    def collect_lists(self) -> list[FoundModels]:
        """The models listed since the last time."""
        with self._lock:
            return [found for member in self._members for found in member.worker.collect_list()]

    @contextmanager
    def at_rest(self) -> Iterator[Rest]:
        """Everybody is called back, and waits until the next call of `explore`: what is known at rest stays true."""
        self._rest()
        self._raise_failure()
        workers = [member.worker for member in self._members]
        for worker in workers:
            worker.flush_log()
        decided = np.unique(np.concatenate([worker.decided_by_root() for worker in workers]))
        yield Rest([worker.open_nodes for worker in workers], min(worker.closed_bound for worker in workers), decided)

    def _rest(self) -> None:
        """Call everybody back, and wait for them."""
        with self._lock:
            self._resting = True
            self._call_all_back()
            while any(member.busy for member in self._members):
                if self._expired():
                    self._halt()
                self._news.wait(SECONDS_BETWEEN_LOOKS)
            self._empty_inboxes()

    def _empty_inboxes(self) -> None:
        for member in self._members:
            member.empty_inbox()

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Everybody is called back, at once if something was raised, and goes home."""
        with self._lock:
            self._resting = self._dismissed = True
            self._call_all_back()
            if kind is not None:
                self._halt()
            self._wake_all()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(SECONDS_BETWEEN_LOOKS)
                if kind is not None or self._expired():
                    self._halt()

    def finish(self) -> IndexArray:
        """Complete the proof of the tree; returns what the root's dual point has decided in it."""
        self._empty_inboxes()
        workers = [member.worker for member in self._members]
        for worker in workers:
            worker.finish_log()
        return np.unique(np.concatenate([worker.decided_by_root() for worker in workers]))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _call_all_back(self) -> None:
        for member in self._members:
            member.worker.explorer.call_back()

    def _halt(self) -> None:
        """Drop the nodes at hand."""
        halt([node for member in self._members for node in member.worker.at_hand])

    def _wake_all(self) -> None:
        for member in self._members:
            member.wake.notify()

    def _is_under_way(self) -> bool:
        if any(member.busy or member.inbox for member in self._members):
            return True
        return any(map(self._may_begin, self._members))

    # -- sharing; all of this with the lock held ----------------------------------------------------------------

    def _enough(self) -> float:
        """Open nodes that are worth handing over: they should take longer than that does."""
        seconds = self._seconds / max(self._nodes(), 1)
        return min(max(SECONDS_WORTH_GIVING / max(seconds, 1e-9), 1.0), MOST_NODES_WORTH_GIVING)

    def _hire(self) -> None:
        """Start more workers, if there are nodes for them."""
        if not self._data:
            return
        waiting = sum(self._waiting(member) for member in self._members if member.busy)
        idle = sum(not member.busy for member in self._members) + len(self._threads) - len(self._members)
        affordable = int(waiting / (2.0 * self._enough())) - idle
        for _ in range(min(affordable, len(self._data))):
            self._start(None)

    def _match(self) -> None:
        """Promise everyone who is dry a share of the nodes of somebody who is rich."""
        dry = [member for member in self._members if member.is_dry]
        if not dry or self._resting:
            return
        enough = self._enough()
        givers = [member for member in self._members if member.busy and not member.giving]
        waiting = {member: float(self._waiting(member)) for member in givers}
        for member in dry:
            share, richest = max(
                ((waiting[giver] / (len(giver.heirs) + 2), giver) for giver in givers),
                key=lambda pair: pair[0],
                default=(0.0, None),
            )
            if richest is None or share < enough:
                return
            richest.heirs.append(member)
            member.promised = True
            richest.worker.explorer.call_back()

    def _level(self) -> None:
        """Let those with the smallest bounds give nodes to those whose best ones are far from them.

        The lower bound of the search is the smallest; and nodes with large ones may turn out not to be needed. Outward,
        it is the layers that count.
        """
        outward = self._order.number > 0
        able = (member for member in self._members if member.busy and not (member.giving or member.expects))
        ranked = sorted(able, key=lambda member: member.layer if outward else member.best)
        half = len(ranked) // 2
        for behind, ahead in zip(ranked[:half], reversed(ranked), strict=False):
            if outward and not ahead.layer > behind.layer:
                return
            if not outward and not ahead.best - behind.best > LEVEL_SHARE * (self._upper - ranked[0].best):
                return
            behind.lagging.append(ahead)
            ahead.expects = True
            behind.worker.explorer.call_back()

    def _may_begin(self, member: _Member) -> bool:
        able = not (self._resting or self._dismissed) and self._failure is None
        return able and not member.promised and member.worker.waiting > 0 and self._budget() > 0

    def _budget(self) -> int:
        """Nodes that may be explored besides those that are granted."""
        return self._last - self._nodes() - sum(member.granted for member in self._members)

    # -- the threads of the workers -----------------------------------------------------------------------------

    def _start(self, member: _Member | None) -> None:
        """Give a worker, or one yet to be made, a thread."""
        number = len(self._threads)
        data = None if member is not None else self._data.pop()
        thread = threading.Thread(
            target=self._live, args=(number, member, data), name=f"safescreen-{number}", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def _live(self, number: int, member: _Member | None, data: Subproblem | None) -> None:
        """What a thread does: make the worker, then explore and report until dismissed."""
        try:
            if member is None:
                member = _Member(self._workshop.worker(number, data), self._lock)
                with self._lock:
                    self._members.append(member)
            self._work(member)
        except BaseException as error:
            with self._lock:
                self._failure = self._failure or error
                if member is not None:
                    member.busy = False
                self._news.notify()

    def _work(self, member: _Member) -> None:
        while True:
            orders = self._begin(member)
            if orders is None:
                return
            begin = perf_counter()
            arrange(member.worker.open_nodes, self._order)
            report = member.worker.explorer.explore(member.worker.open_nodes, self._upper, orders)
            self._report(member, report, perf_counter() - begin)

    def _begin(self, member: _Member) -> Orders | None:
        """Wait until there is something to explore; None when there never will be."""
        with self._lock:
            member.busy = member.giving = False
            member.empty_inbox()
            if not self._may_begin(member):
                self._match()
                self._news.notify()
            while True:
                member.empty_inbox()
                if self._may_begin(member) and self._orders is not None:
                    break
                if self._dismissed or self._failure is not None:
                    return None
                member.wake.wait()
            member.busy = True
            member.worker.explorer.let_go_on()
            member.granted = max(self._budget() // (2 * len(self._members)), 1)
            return self._orders._replace(node_limit=member.granted)

    def _report(self, member: _Member, report: Report, seconds: float) -> None:
        """Tell the others what was found, and give nodes to those who were promised some."""
        worker = member.worker
        listed = worker.listed()
        with self._lock:
            worker.take(report)
            worker.found += listed
            member.publish()
            member.granted = 0
            self._seconds += seconds
            member.giving = True
            heirs, member.heirs = member.heirs, []
            lagging, member.lagging = member.lagging, []
        if heirs or lagging or report.log_is_full:
            worker.flush_log()  # a proof has parents before their children, wherever these are explored
        if heirs:
            self._give(member, heirs)
        for other in lagging:
            self._send(member, other)

    def _give(self, member: _Member, heirs: list[_Member]) -> None:
        """Deal nodes out to workers that wait for them, as evenly as it goes."""
        worker = member.worker
        served = heirs[: max(worker.waiting - 1, 0)]
        for number, heir in enumerate(served):
            worker.split_with(heir.worker, len(served) + 1 - number, MOST_GIVEN)
        with self._lock:
            member.publish()
            for heir in heirs:
                heir.promised = False
                heir.publish()
                heir.wake.notify()

    def _send(self, member: _Member, other: _Member) -> None:
        """Send some of the best nodes to a worker that has worse ones, and goes on with these meanwhile."""
        nodes = taken_out(member.worker.open_nodes, MOST_LEVELLED)
        with self._lock:
            other.inbox.append(nodes)
            other.best = min(other.best, smallest_bound(nodes))
            other.bound = min(other.bound, smallest_bound(nodes))
            other.layer = min(other.layer, first_layer(nodes, other.number))
            member.publish()
            other.wake.notify()
