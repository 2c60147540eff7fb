"""A crew on other computers: who has which open nodes, and what counts when something gets lost.

One worker here has the books. Nodes that were sent away stay on them, with their bounds, until an answer is there, and
only the first answer for a batch counts. The nodes of a batch that is lost wait again, and are sent again, as often as
it takes. So whatever happens to those who explore, nothing is left out and nothing is counted twice.

The best objective goes with every batch. Tasks take about a second, so that nobody is told in the middle of one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from types import TracebackType
from typing import Any

import numpy as np

from safescreen.arrays import IndexArray
from safescreen.incumbents import Incumbent
from safescreen.kernels import Orders
from safescreen.kernels.open_nodes import arrange, bytes_per_node, make_open_nodes
from safescreen.kernels.outward import BEST_BOUND_FIRST, Order
from safescreen.search.cluster_post import Outcome, Post
from safescreen.search.cluster_task import Answer, Batch
from safescreen.search.crew import Rest
from safescreen.search.found import FoundModels
from safescreen.search.lone import LoneWorker
from safescreen.search.parcels import Parcel, arrived_log, arrived_numbers, put_in, take_best
from safescreen.search.workers import Worker

ALONE_SECONDS = 0.3
"""A search that is over sooner is none for a cluster."""

FEW_NODES = 8
"""Open nodes per thread of the cluster below which they are multiplied here first."""

TASK_SECONDS = (0.5, 2.0)
"""How long a task takes: short while others wait for nodes, longer each time when there are enough for all."""

BATCH_BYTES = 1 << 22
"""Open nodes that are sent at a time, at most."""

LEAST_BATCH = 4
"""Open nodes that are worth sending."""

PATIENCE_SECONDS = 60.0
"""After which a batch is given to somebody else; twice as long each time."""

LONELY_SECONDS = 10.0
"""How long nodes wait for workers when all are gone, before they are explored here."""

LAST_SECONDS = 0.5
"""How long answers are waited for when time is up: tasks end with it."""

MOST_FAILURES = 3
"""Tasks that fail in a row, not because a worker was lost: then nothing is sent any more."""

MOST_LOSSES = 20
"""Batches lost in a row, with no answer between: then it is the tasks that kill workers, by their memory say."""

STEP_SECONDS, LOOK_SECONDS = 0.05, 0.005
"""How long one step waits for answers, and how often it looks."""


class ClusterFailedWarning(RuntimeWarning):
    """The workers of a cluster cannot explore; the search goes on where it was begun."""


@dataclass
class Flight:
    """A batch that was sent away."""

    parcel: Parcel
    node_limit: int
    layer: float  # the first one among its nodes, in the order with this number
    number: int
    due: float  # when nobody waits for it any more
    ticket: Any


class Fleet:
    """A worker here, with all open nodes on its books, and those elsewhere that it sends some of them to.

    Parameters
    ----------
    home : Worker
        Holds the nodes that wait, and explores while they are few or nobody else is there. Its log has all numbers.
    post : Post
        The way to the others.
    seconds_left : callable
        How long the search may still take; tasks are no longer than that.
    """

    def __init__(self, home: Worker, post: Post, seconds_left: Callable[[], float]) -> None:
        self.home, self.post = home, post
        self.flights: dict[int, Flight] = {}
        self.lost = 0  # batches that had to be sent again
        self._seconds_left = seconds_left
        self._alone = LoneWorker(home, lambda: seconds_left() <= 0.0)
        self._nodes_elsewhere, self._closed_elsewhere = 0, np.inf
        self._decided_elsewhere: IndexArray = np.empty(0, np.int64)
        self._order = BEST_BOUND_FIRST
        self._sent, self._failures, self._losses = 0, 0, 0
        self._seconds, self._patience = TASK_SECONDS[0], PATIENCE_SECONDS
        self._began = self._in_company = monotonic()

    @property
    def columns(self) -> IndexArray:
        """The columns that the search is about."""
        return self.home.columns

    @property
    def size(self) -> int:
        """How many may explore at the same time."""
        return max(self.post.threads(), 2)

    @property
    def nodes(self) -> int:
        """Nodes explored, here and elsewhere."""
        return self.home.nodes + self._nodes_elsewhere

    @property
    def open_nodes(self) -> int:
        """Nodes waiting, those that were sent away included."""
        return self.home.waiting + sum(flight.parcel.size for flight in self.flights.values())

    @property
    def lower_bound(self) -> float:
        """The smallest bound of anything open or closed, here, elsewhere or on the way."""
        away = min((flight.parcel.smallest_bound for flight in self.flights.values()), default=np.inf)
        return min(self.home.lower_bound, self._closed_elsewhere, away)

    @property
    def can_begin_again(self) -> bool:
        """Whether the root node is at hand."""
        return self.home.root is not None

    def begin_again(self) -> None:
        """Drop all open nodes for the root, those that were sent away included."""
        self.recall()
        self.home.begin_again()

    def arrange(self, order: Order) -> None:
        """Take open nodes in this order from now on, here and in all batches to be sent."""
        self._order = order
        arrange(self.home.open_nodes, order)

    def first_layer(self, order: Order, cutoff: float) -> float:
        """The first layer of this order with anything open below the cutoff; 0 where that is not known."""
        if self._closed_elsewhere < cutoff or any(flight.number != order.number for flight in self.flights.values()):
            return 0.0
        away = min((flight.layer for flight in self.flights.values()), default=np.inf)
        return min(self.home.first_layer(order.number, cutoff), away)

    def next_door(self, order: Order, model: Incumbent) -> None:
        """There is but the tree they explore."""

    def explore(self, upper: float, orders: Orders) -> None:
        """Explore, or let explore, for some hundredths of a second."""
        self._collect()
        self._recall_from_nowhere()
        left = max(orders.node_limit - self.nodes - sum(flight.node_limit for flight in self.flights.values()), 0)
        if self._is_time_to_send():
            self._send(upper, orders._replace(node_limit=left))
        if not self.flights:
            few = self._sends() and self.home.waiting < FEW_NODES * self.post.threads()
            allowance = orders.allowance // 1000 if few else orders.allowance
            self._alone.explore(upper, orders._replace(node_limit=self.home.nodes + left, allowance=allowance))
            return
        end = monotonic() + STEP_SECONDS
        while not self._collect() and monotonic() < end:
            sleep(LOOK_SECONDS)

    def collect_model(self, upper: float) -> IndexArray | None:
        """The support of the best model found since the last time, if it is better than ``upper``."""
        return self.home.collect_model(upper)

    def collect_lists(self) -> list[FoundModels]:
        """The models listed since the last time: here, since no list is sent anywhere."""
        return self.home.collect_list()

    @contextmanager
    def at_rest(self) -> Iterator[Rest]:
        """Nothing is taken over meanwhile, so that nodes elsewhere are as they were sent."""
        if self._seconds_left() <= 0.0:
            self._wait(LAST_SECONDS)
        self.home.flush_log()
        nodes = self.home.open_nodes
        away = make_open_nodes(16, 4 * nodes.bits.shape[1], nodes.feature.shape[1], int(nodes.counts["most"][0]))
        for flight in self.flights.values():
            away = put_in(away, flight.parcel)
        closed = min(self.home.closed_bound, self._closed_elsewhere)
        yield Rest([nodes, away], closed, self._decided_by_root())

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Take all nodes back, and let the others forget the search."""
        self.recall()
        self.post.close()

    def finish(self) -> IndexArray:
        """Complete the proof of the tree; returns what the root's dual point has decided in it."""
        self.home.finish_log()
        return self._decided_by_root()

    def recall(self) -> None:
        """Take all nodes back as they were sent; answers do not count any more."""
        if self.flights:
            self.post.give_up([flight.ticket for flight in self.flights.values()])
        for number in list(self.flights):
            self._take_back(number)

    def accept(self, number: int, answer: Answer) -> bool:
        """Take over what became of a batch, unless that is known already; whether it was taken."""
        if number not in self.flights:
            return False
        del self.flights[number]
        home = self.home
        numbers = home.explorer.log.counts
        first = int(numbers["next_number"][0])
        for part in answer.log:
            if home.proof is not None:
                home.proof.take(arrived_log(part, first), home.columns)
            numbers["next_number"] += len(part.nodes[0])
        nodes = answer.nodes.with_parents(arrived_numbers(answer.nodes.parents, first))
        home.open_nodes = put_in(home.open_nodes, nodes)
        self._closed_elsewhere = min(self._closed_elsewhere, answer.closed_bound)
        self._nodes_elsewhere += answer.explored
        self._decided_elsewhere = np.union1d(self._decided_elsewhere, answer.decided_by_root)
        if answer.support is not None and answer.objective < home.best[0]:
            home.best = answer.objective, home.columns[answer.support]
        return True

    def _decided_by_root(self) -> IndexArray:
        """What the root's dual point has decided in some node, as ±(feature + 1)."""
        elsewhere = self._decided_elsewhere
        features = self.home.columns[np.abs(elsewhere) - 1] + 1
        return np.union1d(self.home.decided_by_root(), np.sign(elsewhere) * features)

    def _sends(self) -> bool:
        """Whether the search is large enough for others, and they are able to explore."""
        return self._failures < MOST_FAILURES and monotonic() - self._began >= ALONE_SECONDS

    def _is_time_to_send(self) -> bool:
        """Whether somebody is idle, and there are nodes enough."""
        threads = self.post.threads() if self._sends() else 0
        enough = LEAST_BATCH if self.flights else FEW_NODES * threads
        return threads > len(self.flights) and self.home.waiting >= enough and self.post.is_ready()

    def _send(self, upper: float, orders: Orders) -> None:
        """Share the best open nodes out among those who have nothing to do."""
        idle = min(self.post.threads() - len(self.flights), self.home.waiting // LEAST_BATCH, orders.node_limit)
        if idle <= 0:
            return
        self.home.flush_log()  # parents come before their children
        nodes = self.home.open_nodes
        fits = max(BATCH_BYTES // bytes_per_node(4 * nodes.bits.shape[1], nodes.feature.shape[1]), LEAST_BATCH)
        shortest, longest = TASK_SECONDS
        enough = self.home.waiting >= FEW_NODES * idle
        self._seconds = min(1.2 * self._seconds, longest) if enough else shortest
        seconds = max(min(self._seconds, self._seconds_left()), 0.0)
        share = orders._replace(node_limit=orders.node_limit // idle)
        for parcel in take_best(nodes, min(idle * fits, self.home.waiting), idle):
            self._sent += 1
            ticket = self.post.send(Batch(parcel, upper, share, self._order, seconds))
            layer, number = parcel.first_layer(self._order), self._order.number
            due = monotonic() + self._patience
            self.flights[self._sent] = Flight(parcel, share.node_limit, layer, number, due, ticket)

    def _collect(self) -> bool:
        """Deal with everything that is known by now of what was sent; whether there was anything."""
        known = False
        for number, flight in list(self.flights.items()):
            outcome = self.post.outcome(flight.ticket)
            if outcome is None and monotonic() >= flight.due:
                self.post.give_up([flight.ticket])
                self._patience *= 2.0
                outcome = Outcome()
            if outcome is None or number not in self.flights:
                continue
            known = True
            if outcome.answer is not None:
                self._failures = self._losses = 0
                self.accept(number, outcome.answer)
            else:
                self._take_back(number)
                self._note_failure(outcome.failure)
        return known

    def _wait(self, seconds: float) -> None:
        """Wait for answers that may come so soon."""
        end = monotonic() + seconds
        while self.flights and monotonic() < end:
            if not self._collect():
                sleep(LOOK_SECONDS)

    def _take_back(self, number: int) -> None:
        """A batch that comes to nothing waits again, like any other open nodes."""
        self.home.open_nodes = put_in(self.home.open_nodes, self.flights.pop(number).parcel)
        self.lost += 1

    def _note_failure(self, failure: BaseException | None) -> None:
        """A task that fails by itself would fail again: after a few of them nobody is asked any more."""
        self._losses += 1
        if failure is None and self._losses < MOST_LOSSES:
            return
        failure = failure or RuntimeError(f"{self._losses} batches in a row were lost with their workers")
        self._failures = MOST_FAILURES if self._losses >= MOST_LOSSES else self._failures + 1
        if self._failures == MOST_FAILURES:
            self.recall()
            warnings.warn(
                f"The workers of the cluster cannot explore ({type(failure).__name__}: {failure}); the search goes on "
                "without them.",
                ClusterFailedWarning,
                stacklevel=2,
            )

    def _recall_from_nowhere(self) -> None:
        """If all workers are gone for long, their nodes are explored here."""
        if not self.flights or self.post.threads() > 0:
            self._in_company = monotonic()
        elif monotonic() - self._in_company > LONELY_SECONDS:
            self.recall()
