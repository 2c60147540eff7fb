"""The compiled entry point, compiled once and kept on disk; never stale.

Numba's cache watches the file of an entry point only, so a change in another module would leave old machine code in
use. A fingerprint of all the sources lies beside the cache: where it differs, the cached code is removed first.
"""

import sys
import threading
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from safescreen import node, tree

_SOURCES = ("design.py", "numerics.py", "bounds.py", "model.py", "node.py", "tree.py")
_ENTRIES = (tree.answer,)
_NOTICE = "safescreen: compiling its numerical kernels, once per installation (about 15 seconds)...\n"
_NO_STORE = tree.make_store(1, 1, 1, 1)
_NO_LOG = tree.make_log(0, 0, 0, 1)
_NO_TOTALS = tree.make_totals(np.ones(1), np.zeros(1, np.int64), np.empty(0), np.empty(0), _NO_LOG)


def relax(
    data: node.Data,
    state: node.State,
    level: float,
    b: float,
    cut: float,
    tolerance: float,
    patience: float,
    newton: bool,
) -> tuple[float, float, float, float, float, float, bool]:
    """Solve the relaxation of the node in ``state``: see :func:`safescreen.node.relax`."""
    numbers = np.array([level, b, cut, tolerance, patience, 0.0])
    exact = tree.answer(False, data, state, state, _NO_STORE, _NO_TOTALS, numbers, newton, 0, 0)
    primal, bound, last, following, level, b = numbers.tolist()
    return primal, bound, last, following, level, b, bool(exact)


def explore(
    data: node.Data,
    state: node.State,
    spare: node.State,
    store: tree.Store,
    totals: tree.Totals,
    rel_gap: float,
    screening: bool,
    nodes: int,
    allowance: int,
) -> int:
    """Work through open nodes: see :func:`safescreen.tree.answer`."""
    return int(tree.answer(True, data, state, spare, store, totals, np.array([rel_gap]), screening, nodes, allowance))


def _fingerprint() -> str:
    here = Path(__file__).parent
    return sha256(b"".join((here / name).read_bytes() for name in _SOURCES)).hexdigest()


def _forget_stale_code() -> bool:
    """Remove cached machine code that was made from other sources; whether any is left."""
    left = True
    for entry in _ENTRIES:
        folder = Path(entry.stats.cache_path)
        stamp = folder / f"{entry.py_func.__module__}.{entry.py_func.__name__}.sources"
        fingerprint = _fingerprint()
        module = entry.py_func.__module__.rpartition(".")[2]
        cached = f"{module}.{entry.py_func.__name__}-*.nb"
        if not (stamp.exists() and stamp.read_text() == fingerprint):
            for path in [*folder.glob(f"{cached}i"), *folder.glob(f"{cached}c")]:
                path.unlink(missing_ok=True)
            folder.mkdir(parents=True, exist_ok=True)
            temporary = stamp.with_suffix(f".{threading.get_native_id()}")
            temporary.write_text(fingerprint)
            temporary.replace(stamp)
        left = left and any(folder.glob(f"{cached}c"))
    return left


def _announce() -> None:
    sys.stderr.write(_NOTICE)
    sys.stderr.flush()


@cache
def warm_up() -> None:
    """Make the kernels ready, from the cache or by compiling them; says so in one line if it takes long."""
    cached = _forget_stale_code()
    notice = threading.Timer(8.0 if cached else 1.2, _announce)  # on a busy machine, loading takes seconds, too
    notice.daemon = True
    notice.start()
    try:
        _tiny_search()
    finally:
        notice.cancel()


def _tiny_search() -> None:
    """Relax and search a problem of two features, with the argument types of every search."""
    none = np.empty(0)
    data = node.Data(
        columns=np.array([[1.0, -1.0, 0.5], [0.5, 1.0, -1.0]]),
        row=np.arange(2),
        rows=np.array([2]),
        values=none,
        indices=np.empty(0, np.int32),
        starts=np.zeros(1, np.int64),
        means=none,
        scales=none,
        error=np.full(2, 1e-15),
        y=np.array([1.0, -1.0, 1.0]),
        w=np.full(3, 1.0 / 3.0),
        gamma=1.0,
        mu=1e-3,
        k=1,
        intercept=False,
    )
    state, spare = (node.make_state(data, np.ones(2), data.w, 2) for _ in range(2))
    relax(data, state, 0.1, 0.0, np.inf, 1e-3, 0.0, False)
    store = tree.make_store(8, 2, 2, 8)
    totals = tree.make_totals(np.array([1.0]), np.zeros(1, np.int64), np.full(2, -np.inf), np.full(2, -np.inf), _NO_LOG)
    tree.put(store, state, 0.0, 0.1, 0.0)
    explore(data, state, spare, store, totals, 1e-3, True, 4, 1000)
