"""The two compiled entry points, compiled once and kept on disk; never stale.

Numba's cache watches the file of an entry point only, so a change in another module would leave old machine code in
use. A fingerprint of all the sources lies beside the cache: where it differs, the cached code is removed first.
"""

import sys
import threading
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from safescreen import node, tree

_SOURCES = ("design.py", "numerics.py", "bounds.py", "model.py", "node.py", "tree.py")
_ENTRIES = (node.relax, tree.explore)
_NOTICE = "safescreen: compiling its numerical kernels, once per installation (about 15 seconds)...\n"

relax: Callable[..., Any] = node.relax
explore: Callable[..., Any] = tree.explore


def _fingerprint() -> str:
    here = Path(__file__).parent
    return sha256(b"".join((here / name).read_bytes() for name in _SOURCES)).hexdigest()


def _forget_stale_code() -> None:
    """Remove cached machine code that was made from other sources."""
    for entry in _ENTRIES:
        folder = Path(entry.stats.cache_path)
        stamp = folder / f"{entry.py_func.__module__}.{entry.py_func.__name__}.sources"
        fingerprint = _fingerprint()
        if stamp.exists() and stamp.read_text() == fingerprint:
            continue
        module = entry.py_func.__module__.rpartition(".")[2]
        for pattern in (f"{module}.{entry.py_func.__name__}-*.nbi", f"{module}.{entry.py_func.__name__}-*.nbc"):
            for path in folder.glob(pattern):
                path.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        temporary = stamp.with_suffix(f".{threading.get_native_id()}")
        temporary.write_text(fingerprint)
        temporary.replace(stamp)


def _announce() -> None:
    sys.stderr.write(_NOTICE)
    sys.stderr.flush()


@cache
def warm_up() -> None:
    """Make the kernels ready, from the cache or by compiling them; says so in one line if it takes long."""
    from safescreen.warmup import tiny_search

    _forget_stale_code()
    notice = threading.Timer(1.2, _announce)
    notice.daemon = True
    notice.start()
    try:
        tiny_search()
    finally:
        notice.cancel()
