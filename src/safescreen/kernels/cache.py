"""Machine code kept on disk, and never stale.

Numba's cache watches the file of an entry point only, so a change in another module would leave old machine code in
use. A fingerprint of all the sources lies beside the cache: where it differs, the cached code is removed first.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import config

NOTICE = "safescreen: compiling its numerical kernels, once per installation (about 20 seconds)...\n"
run_once = cache


def sources() -> list[Path]:
    """Every file whose text decides what is compiled: the kernels, and the constants they use."""
    kernels = Path(__file__).parent
    package = kernels.parent
    constants = ("design/columns.py", "rounding.py", "tuning.py")
    return [*sorted(kernels.glob("*.py")), *(package / name for name in constants)]


def fingerprint() -> str:
    """A hash of these files."""
    return sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()


def forget_stale_code(entry: Any) -> bool:
    """Remove cached machine code that was made from other sources; whether any is left, or none is needed."""
    if config.DISABLE_JIT:
        return True
    folder = Path(entry.stats.cache_path)
    function = entry.py_func
    stamp = folder / f"{function.__module__}.{function.__name__}.sources"
    cached = f"{function.__module__.rpartition('.')[2]}.{function.__name__}-*.nb"
    now = fingerprint()
    if not (stamp.exists() and stamp.read_text() == now):
        for path in [*folder.glob(f"{cached}i"), *folder.glob(f"{cached}c")]:
            path.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        temporary = stamp.with_suffix(f".{threading.get_native_id()}")
        temporary.write_text(now)
        temporary.replace(stamp)
    return any(folder.glob(f"{cached}c"))


@contextmanager
def announced(cached: bool) -> Iterator[None]:
    """Say that something is compiled, once it has taken longer than loading does."""
    notice = threading.Timer(8.0 if cached else 1.2, _announce)  # on a busy machine, loading takes seconds, too
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


def _announce() -> None:
    sys.stderr.write(NOTICE)
    sys.stderr.flush()
