"""Machine code kept on disk, and never stale.

Numba's cache watches the file of an entry point only, so a change in another module would leave old machine code in
use. A fingerprint of all the sources lies beside the cache: where it differs, the cached code is removed first.

A cache saves time and nothing else. So whatever is wrong with it, a full disk, a folder that is read-only, a file that
is cut off, is said in one line, and the code is compiled as if there were none.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import FunctionCache

NOTICE = "safescreen: compiling its numerical kernels, once per installation (about a minute)...\n"
LISTING_NOTICE = "safescreen: compiling the kernels that list models, once per installation (about half a minute)...\n"
run_once = cache
_complaints: list[str] = []  # at most one


def sources() -> list[Path]:
    """Every file whose text decides what is compiled: the kernels, and the constants they use."""
    kernels = Path(__file__).parent
    package = kernels.parent
    constants = ("design/columns.py", "rounding.py", "tuning.py")
    return [*sorted(kernels.glob("*.py")), *(package / name for name in constants)]


def fingerprint() -> str:
    """A hash of these files."""
    return sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, without its exceptions."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is cached, if it can be read; damaged files make room for new ones."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever unpickling half a file can trigger
            complain(self.cache_path, error)
            with suppress(OSError):
                remove_code(Path(self.cache_path), self._py_func)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code, if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            complain(self.cache_path, error)
            self.disable()


def use_cache(dispatcher: Any) -> None:
    """Let a function that is to be compiled have a cache, if there is a folder for one."""
    try:
        dispatcher._cache = KernelCache(dispatcher.py_func)
    except (RuntimeError, OSError) as error:  # no folder that can be written to, not even the user's own
        complain(None, error)


def complain(folder: str | None, error: Exception) -> None:
    """One line about a cache that cannot be used, once."""
    if _complaints:
        return
    where = "" if folder is None else f" in {folder}"
    reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    _complaints.append(
        f"safescreen: the cache of compiled kernels{where} cannot be used ({reason}): they are compiled anew, which "
        "takes about a minute and changes nothing else; NUMBA_CACHE_DIR names another folder.\n"
    )
    sys.stderr.write(_complaints[0])
    sys.stderr.flush()


def remove_code(folder: Path, function: Any) -> None:
    """Remove the cached machine code of a function."""
    for path in cached_code(folder, function, "ic"):
        path.unlink(missing_ok=True)


def cached_code(folder: Path, function: Any, kinds: str) -> list[Path]:
    """The index (``i``) and the machine code (``c``) of a function."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    return [path for kind in kinds for path in folder.glob(f"{name}-*.nb{kind}")]


def forget_stale_code(entry: Any) -> bool:
    """Remove cached machine code that was made from other sources; whether any is left, or none is needed.

    What cannot be removed must not be used either.
    """
    if config.DISABLE_JIT:
        return True
    if entry.stats.cache_path is None:
        return False
    try:
        return _forget_stale_code(entry)
    except (OSError, ValueError) as error:
        complain(entry.stats.cache_path, error)
        entry._cache.disable()
        return False


def _forget_stale_code(entry: Any) -> bool:
    folder = Path(entry.stats.cache_path)
    function = entry.py_func
    stamp = folder / f"{function.__module__}.{function.__name__}.sources"
    now = fingerprint()
    if not (stamp.exists() and stamp.read_bytes() == now.encode()):
        remove_code(folder, function)
        folder.mkdir(parents=True, exist_ok=True)
        temporary = stamp.with_suffix(f".{threading.get_native_id()}")
        try:
            temporary.write_bytes(now.encode())
            temporary.replace(stamp)
        finally:
            temporary.unlink(missing_ok=True)
    return bool(cached_code(folder, function, "c"))


@contextmanager
def announced(cached: bool, text: str = NOTICE) -> Iterator[None]:
    """Say that something is compiled, once it has taken longer than loading does."""
    patience = 8.0 if cached else 1.2  # on a busy machine, loading takes seconds, too
    notice = threading.Timer(patience, lambda: _announce(text))
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


def _announce(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
