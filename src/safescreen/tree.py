"""The search tree, compiled: many nodes per call, best bound first with plunging.

Open nodes live in plain arrays (two bits per feature, a sparse warm start, a bound) and a binary heap of their slots.
One call of :func:`answer` works through as many nodes as its allowance of arithmetic permits and then returns to
Python, which looks after limits, progress, interrupts and the exchange of nodes between threads. The allowance counts
operations, not seconds, so a single-threaded search is the same every time.
"""

from typing import NamedTuple

import numpy as np

from safescreen.bounds import FREE, IN, OUT
from safescreen.design import UNIT
from safescreen.node import State, make_dense, predictor, relax, reserved_rows
from safescreen.numerics import add_multiple, compiled, entry, two_largest_cuts

EXHAUSTED, PAUSED, STORE_FULL, LOG_FULL = 0, 1, 2, 3
PLUNGE = 0.1  # a plunge goes on while the bound is this near, relative to the gap, to the best open one


class Store(NamedTuple):
    """Open nodes: slots of a fixed shape, a stack of free slots and a heap ordered by bound."""

    bound: np.ndarray
    level: np.ndarray
    intercept: np.ndarray
    bits: np.ndarray  # (slots, bytes): two bits per feature
    parent: np.ndarray  # number of the parent in the log
    decision: np.ndarray  # what distinguishes the node from it: ±(feature + 1), 0 for nothing
    length: np.ndarray  # entries in the warm start
    feature: np.ndarray  # (slots, width)
    value: np.ndarray
    vacant: np.ndarray
    heap: np.ndarray
    counts: np.ndarray  # [vacant slots, heap size, heap size above which depth comes first]


class Log(NamedTuple):
    """What a proof needs to know of every node; without entries where no proof is wanted."""

    counts: np.ndarray  # [nodes, screening decisions, entries of points, next number, step between numbers]
    node: np.ndarray  # (nodes, 2): its number and its parent's
    facts: np.ndarray  # (nodes, 3): decision, screening decisions, entries of its point (-1: it has none)
    intercept: np.ndarray  # (nodes,): of its point
    screened: np.ndarray  # decisions, as ±(feature + 1)
    feature: np.ndarray
    value: np.ndarray


class Totals(NamedTuple):
    """What a worker accumulates, and what it shares with Python and the other workers."""

    upper: np.ndarray  # [objective of the best model], shared by all workers
    closed: np.ndarray  # [smallest bound of anything pruned or screened away]
    support: np.ndarray  # (features,): the worker's best model
    best: np.ndarray  # [its objective]
    counts: np.ndarray  # [nodes, refits, Newton nodes]
    seen: np.ndarray  # hashes of supports refitted lately
    stop: np.ndarray  # [1 as soon as any worker runs dry], shared
    raise_in: np.ndarray  # (features,): bound of the whole problem with the feature in
    raise_out: np.ndarray  # (features,): and with it out
    used: np.ndarray  # (features,): whether one of these two has decided the feature in some node
    log: Log


def make_store(slots: int, features: int, width: int, most: int) -> Store:
    """An empty store; pages are only touched when nodes are stored. Beyond ``most`` nodes depth comes first."""
    return Store(
        np.empty(slots), np.empty(slots), np.empty(slots), np.empty((slots, (features + 3) // 4), np.uint8),
        np.empty(slots, np.int64), np.empty(slots, np.int32), np.empty(slots, np.int32),
        np.empty((slots, width), np.int32), np.empty((slots, width), np.float32),
        np.arange(slots - 1, -1, -1, dtype=np.int32), np.empty(slots, np.int32), np.array([slots, 0, most], np.int64),
    )  # fmt: skip


def put(store: Store, state: State, bound: float, level: float, b: float) -> None:
    """Store the root node: the only node that does not come from a compiled search."""
    slot = store.vacant[store.counts[0] - 1]
    codes = np.where(state.status == IN, 1, np.where(state.status == OUT, 2, 0)).astype(np.uint8)
    codes = np.concatenate([codes, np.zeros(-codes.size % 4, np.uint8)]).reshape(-1, 4)
    nonzero = np.flatnonzero(state.x)[: store.feature.shape[1]]
    store.bound[slot], store.level[slot], store.intercept[slot] = bound, level, b
    store.parent[slot], store.decision[slot] = -1, 0
    store.bits[slot] = codes[:, 0] | codes[:, 1] << 2 | codes[:, 2] << 4 | codes[:, 3] << 6
    store.length[slot] = nonzero.size
    store.feature[slot, : nonzero.size] = nonzero
    store.value[slot, : nonzero.size] = state.x[nonzero]
    store.heap[0] = slot
    store.counts[:2] = store.counts[0] - 1, 1


def make_log(nodes: int, entries: int, first: int, step: int) -> Log:
    """An empty log whose nodes are numbered ``first``, ``first + step``, ..."""
    return Log(
        counts=np.array([0, 0, 0, first, step], np.int64),
        node=np.empty((nodes, 2), np.int64),
        facts=np.empty((nodes, 3), np.int32),
        intercept=np.empty(nodes),
        screened=np.empty(entries, np.int32),
        feature=np.empty(entries, np.int32),
        value=np.empty(entries),
    )


def make_totals(upper: np.ndarray, stop: np.ndarray, raise_in: np.ndarray, raise_out: np.ndarray, log: Log) -> Totals:
    """Fresh totals of a worker; ``upper`` and ``stop`` are shared between workers."""
    features = raise_in.size
    return Totals(
        upper=upper,
        closed=np.array([np.inf]),
        support=np.zeros(features, np.bool_),
        best=np.array([np.inf]),
        counts=np.zeros(3, np.int64),
        seen=np.zeros(4096, np.uint64),
        stop=stop,
        raise_in=raise_in,
        raise_out=raise_out,
        used=np.zeros(features, np.bool_),
        log=log,
    )


@compiled
def push(store, slot):
    """Put a filled slot on the heap."""
    i = store.counts[1]
    store.counts[1] += 1
    while i > 0:
        parent = (i - 1) // 2
        if store.bound[store.heap[parent]] <= store.bound[slot]:
            break
        store.heap[i] = store.heap[parent]
        i = parent
    store.heap[i] = slot


@compiled
def pop(store):
    """Take the slot with the smallest bound off the heap, or the latest, as a rule, when memory is short."""
    store.counts[1] -= 1
    size = store.counts[1]
    if size > store.counts[2]:
        return store.heap[size]
    slot = store.heap[0]
    if size > 0:
        moved = store.heap[size]
        i = 0
        while True:
            child = 2 * i + 1
            if child >= size:
                break
            if child + 1 < size and store.bound[store.heap[child + 1]] < store.bound[store.heap[child]]:
                child += 1
            if store.bound[moved] <= store.bound[store.heap[child]]:
                break
            store.heap[i] = store.heap[child]
            i = child
        store.heap[i] = moved
    return slot


@compiled
def save(store, status, x, bound, level, b, parent, decision):
    """Store a node: its decisions and as much of its iterate as fits."""
    store.counts[0] -= 1
    slot = store.vacant[store.counts[0]]
    store.bound[slot] = bound
    store.parent[slot] = parent
    store.decision[slot] = decision
    store.level[slot] = level
    store.intercept[slot] = b
    for i in range(store.bits.shape[1]):
        store.bits[slot, i] = 0
    width, length = store.feature.shape[1], 0
    for j in range(status.size):
        if status[j] != FREE:
            store.bits[slot, j >> 2] |= np.uint8((1 if status[j] == IN else 2) << (2 * (j & 3)))
        if x[j] != 0.0 and length < width:
            store.feature[slot, length] = j
            store.value[slot, length] = x[j]
            length += 1
    store.length[slot] = length
    push(store, slot)


@compiled
def load(data, store, status, x, slot):
    """Bring a stored node back and free its slot."""
    for j in range(status.size):
        code = (store.bits[slot, j >> 2] >> (2 * (j & 3))) & 3
        status[j] = FREE if code == 0 else (IN if code == 1 else OUT)
        x[j] = 0.0
    for i in range(store.length[slot]):
        feature = np.int64(store.feature[slot, i])
        if status[feature] != OUT and make_dense(data, feature, reserved_rows(data)):
            x[feature] = store.value[slot, i]
    store.vacant[store.counts[0]] = slot
    store.counts[0] += 1
    return store.bound[slot], store.level[slot], store.intercept[slot]


@compiled
def recycle_rows(data, state, spare):
    """Before a node is loaded: take back the dense rows of sparse columns when only reserved ones are left."""
    reserved = reserved_rows(data)
    if reserved == 0 or data.rows[0] + reserved < data.columns.shape[0]:
        return
    data.rows[0] = 0
    for j in range(data.row.size):
        data.row[j] = -1
        state.hot[j] = False
        state.gram.place[j] = -1
        spare.gram.place[j] = -1
    state.gram.size[0] = 0
    spare.gram.size[0] = 0


@compiled
def decide(data, status, x, u, j, choice):
    """Fix a feature; a feature ruled out leaves the iterate."""
    status[j] = choice
    if choice == IN:
        make_dense(data, j, 0 * j)
    if choice == OUT and x[j] != 0.0:
        add_multiple(u, -x[j], data.columns[data.row[j]])
        x[j] = 0.0


@compiled
def screen_node(data, status, x, u, best_q, bound, last, following, limit, closed, log):
    """Fix every free feature whose other branch is proved to hold nothing below ``limit``."""
    for j in range(status.size):
        if status[j] != FREE:
            continue
        gain = best_q[j] - data.mu
        if gain > 0.0 and gain >= last:
            raised = bound + (gain - following)
            choice = IN
        else:
            raised = bound + (last - gain)
            choice = OUT
        raised -= 4.0 * UNIT * (abs(bound) + abs(gain) + last + following)
        if raised > limit:
            closed[0] = min(closed[0], raised)
            decide(data, status, x, u, j, choice)
            if log.intercept.size > 0:
                log.screened[log.counts[1]] = choice * (j + 1)
                log.counts[1] += 1
                log.facts[log.counts[0] - 1, 1] += 1


@compiled
def screen_root(status, x, totals, limit):
    """Apply what the root's dual point proves against the current ``limit``; False if the node contradicts it."""
    for j in range(status.size):
        if totals.raise_in[j] > limit:
            choice, raised = OUT, totals.raise_in[j]
        elif totals.raise_out[j] > limit:
            choice, raised = IN, totals.raise_out[j]
        else:
            continue
        if status[j] != choice:
            totals.closed[0] = min(totals.closed[0], raised)
            totals.used[j] = True
            if status[j] != FREE:
                return False
            status[j] = choice
            if choice == OUT:
                x[j] = 0.0
    return True


@compiled
def log_is_full(log, features):
    """Whether the log may lack room for one more node."""
    if log.intercept.size == 0:
        return False
    entries = max(log.counts[1], log.counts[2]) + features
    return log.counts[0] >= log.intercept.size or entries > log.value.size


@compiled
def record(log, parent, decision, state, has_point):
    """Log a node, with the dual point behind its bound where that adds something; returns its number."""
    if log.intercept.size == 0:
        return parent
    i, number = log.counts[0], log.counts[3]
    log.node[i, 0] = number
    log.node[i, 1] = parent
    log.facts[i, 0] = decision
    log.facts[i, 1] = 0
    log.facts[i, 2] = -1
    log.intercept[i] = 0.0
    if has_point:
        first = log.counts[2]
        for j in range(state.best_x.size):
            if state.best_x[j] != 0.0:
                log.feature[log.counts[2]] = j
                log.value[log.counts[2]] = state.best_x[j]
                log.counts[2] += 1
        log.facts[i, 2] = log.counts[2] - first
        log.intercept[i] = state.best_b[0]
    log.counts[0] += 1
    log.counts[3] += log.counts[4]
    return number


@compiled
def round_up(status, x, scratch, k, level, seen, model_status, model_x):
    """Mark in ``model_status`` the model the relaxation suggests; False if it was tried lately."""
    decided = 0
    free = 0
    for j in range(status.size):
        if status[j] == IN:
            decided += 1
        elif status[j] == FREE and abs(x[j]) > 0.5 * level:
            scratch[free] = abs(x[j])
            free += 1
    kappa = k - decided
    smallest = 0.0
    if free > kappa:
        smallest, _ = two_largest_cuts(scratch, free, kappa)
        if kappa <= 0:
            smallest = np.inf
    code = np.uint64(14695981039346656037)
    taken = decided
    for j in range(status.size):
        chosen = status[j] == IN
        if status[j] == FREE and abs(x[j]) > 0.5 * level and abs(x[j]) >= smallest:
            if taken < k:
                chosen = True
                taken += 1
        model_status[j] = IN if chosen else OUT
        model_x[j] = x[j] if chosen else 0.0
        if chosen:
            code = (code ^ np.uint64(j + 1)) * np.uint64(1099511628211)
    place = int(code >> np.uint64(32)) % seen.size
    if seen[place] == code:
        return False
    seen[place] = code
    return True


@compiled
def choose(status, x, best_q, level):
    """The most fractional free feature (with how fractional it is), else the strongest free one, else none."""
    best, most = -1, 0.0
    fallback, strongest = -1, -1.0
    fractional = 0
    for j in range(status.size):
        if status[j] != FREE:
            continue
        t = abs(x[j])
        if t > 0.0 and t < level * (1.0 - 1e-9):
            fractional += 1
            z = t / level
            score = min(z, 1.0 - z)
            if score > most:
                best, most = j, score
        if best_q[j] + t > strongest:
            fallback, strongest = j, best_q[j] + t
    if best >= 0:
        return best, fractional
    return fallback, fractional


@entry
def answer(exploring, data, state, spare, store, totals, numbers, switch, node_limit, allowance):
    """The one function Python calls: explore the tree, or just relax the node in ``state``.

    A single entry point is compiled, cached and loaded once. ``numbers`` holds the real arguments and takes the results
    of a relaxation: primal value, bound, the two cuts, level and intercept; ``switch`` asks it for exact Hessians, and
    the return value says whether it used them.

    An exploration (``numbers[0]`` is the relative gap, ``switch`` screens in every node) works through open nodes until
    none is left, the allowance is used up, or the store is nearly full, and returns which of these it was.
    """
    if not exploring:
        primal, bound, last, following, level, b, newton = relax(
            data, state, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], switch
        )
        numbers[0], numbers[1], numbers[2] = primal, bound, last
        numbers[3], numbers[4], numbers[5] = following, level, b
        return 1 if newton else 0
    rel_gap, node_screening = numbers[0], switch
    status, x = state.status, state.x
    m = data.y.size
    features = status.size
    lowest = np.sqrt(data.gamma * data.mu)
    diving = False
    log = totals.log
    bound, level, b = 0.0, 0.0, 0.0
    parent, decision, known = np.int64(-1), np.int64(0), False
    spent = 0
    done = 0
    outcome = PAUSED
    while True:
        limit = totals.upper[0] * (1.0 - rel_gap)
        known = False
        if not diving:
            if store.counts[1] == 0:
                outcome = EXHAUSTED
                break
            if log_is_full(log, features):
                outcome = LOG_FULL
                break
            slot = pop(store)
            parent, decision = store.parent[slot], np.int64(store.decision[slot])
            if store.bound[slot] >= limit:  # the best open node is hopeless, hence all are
                totals.closed[0] = min(totals.closed[0], store.bound[slot])
                record(log, parent, decision, state, known)
                store.vacant[store.counts[0]] = slot
                store.counts[0] += 1
                continue
            recycle_rows(data, state, spare)
            bound, level, b = load(data, store, status, x, slot)
            if node_screening and not screen_root(status, x, totals, limit):
                totals.closed[0] = min(totals.closed[0], max(limit, bound))
                record(log, parent, decision, state, known)
                continue
            for j in range(features):
                if status[j] == IN:
                    make_dense(data, j, 0 * j)
            predictor(data.columns, data.row, x, b, state.u)
            spent += features * 4 + m * store.length[slot]
        full = log_is_full(log, features)
        pause = done > 0 and (spent >= allowance or totals.stop[0] != 0)  # every round makes some progress
        if pause or done >= node_limit or store.counts[0] < 3 or full:
            save(store, status, x, bound, level, b, parent, decision)
            if store.counts[0] < 3:
                outcome = STORE_FULL
            elif full:
                outcome = LOG_FULL
            break
        done += 1
        decided, free = 0, 0
        for j in range(features):
            if status[j] == IN:
                decided += 1
            elif status[j] == FREE:
                free += 1
        if decided > data.k:  # screening proved more features in than fit: nothing here is below the limit
            totals.closed[0] = min(totals.closed[0], max(limit, bound))
            record(log, parent, decision, state, known)
            diving = False
            continue
        if decided == data.k:
            for j in range(features):
                if status[j] == FREE:
                    decide(data, status, x, state.u, j, -abs(IN))
            free = 0
        final = free == 0
        tolerance = 0.05 * rel_gap
        newton = totals.counts[2] * 2 > totals.counts[0] + 8 and totals.counts[0] % 16 != 0
        primal, value, last, following, level, b, newton = relax(
            data, state, level, b, limit, tolerance, 0.0 if final else 0.1, newton
        )
        spent += 2 * state.work[0] + 64 * features
        totals.counts[0] += 1
        totals.counts[2] += 1 if newton else 0
        known = value >= bound  # otherwise the parent's bound holds, and this dual point proves nothing new
        bound = max(bound, value)
        parent, decision = record(log, parent, decision, state, known), np.int64(0)
        if bound >= limit or final:
            if final and primal * (1.0 + 8.0 * m * UNIT) < totals.upper[0]:
                accept(status, totals, primal * (1.0 + 8.0 * m * UNIT))
            totals.closed[0] = min(totals.closed[0], bound)
            diving = False
            continue
        j, fractional = choose(status, x, state.best_q, level)
        # a new model, where the relaxation is nearly decided or few have been tried
        if fractional <= 3 or totals.counts[1] * 16 < totals.counts[0] + 64:
            if round_up(status, x, state.scratch, data.k, level, totals.seen, spare.status, spare.x):
                predictor(data.columns, data.row, spare.x, b, spare.u)
                found = relax(data, spare, lowest, b, np.inf, 1e-10, 0.0, newton)[0]
                spent += 2 * spare.work[0]
                totals.counts[1] += 1
                found *= 1.0 + 8.0 * m * UNIT
                if found < totals.upper[0]:
                    accept(spare.status, totals, found)
                    limit = totals.upper[0] * (1.0 - rel_gap)
                    if bound >= limit:
                        totals.closed[0] = min(totals.closed[0], bound)
                        diving = False
                        continue
        if known:
            if node_screening:
                screen_node(data, status, x, state.u, state.best_q, value, last, following, limit, totals.closed, log)
            if j >= 0 and status[j] != FREE:
                j, fractional = choose(status, x, state.best_q, level)
        if j < 0:  # everything was decided by screening: the node is its own only child
            diving = True
            continue
        # branch: the likelier side is explored at once (if its bound is near the best), the other one waits
        first = IN if abs(x[j]) >= 0.5 * level and x[j] != 0.0 else OUT
        kept = x[j]
        status[j] = -first
        if first == IN:
            x[j] = 0.0
        decision = first * (j + 1)
        save(store, status, x, bound, level, b, parent, -decision)
        status[j] = FREE
        x[j] = kept
        decide(data, status, x, state.u, j, first)
        best = store.bound[store.heap[0]]
        diving = bound <= best + PLUNGE * (limit - best) or store.counts[1] > store.counts[2]
        if not diving:
            save(store, status, x, bound, level, b, parent, decision)
    return outcome


@compiled
def accept(status, totals, objective):
    """Keep this support as the best model."""
    totals.upper[0] = min(totals.upper[0], objective)
    totals.best[0] = objective
    for j in range(status.size):
        totals.support[j] = status[j] == IN
