"""Files: those that are not there or far too large, and new ones that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safescreen.text import nearest

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class TooLargeError(MemoryError):
    """A file whose content does not fit into memory, told before it is tried."""


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under a temporary name next to it, and rename it when it is complete.

    Nobody ever sees half a file, and a failure leaves an existing one as it was. What exists and is neither file nor
    folder, such as ``/dev/stdout`` or a pipe, is written to as it is: a file must not take its place.

    Parameters
    ----------
    path : str or path-like
        The file; one that exists is replaced, its folder must exist.

    Yields
    ------
    Path
        The temporary name, to be written to in any way. It ends like `path`, since some writers choose the format by
        the ending.

    Raises
    ------
    OSError
        If the file cannot be written; its ``filename`` is `path`, since the temporary name tells nobody anything.

    Examples
    --------
    >>> import os, tempfile
    >>> from safescreen.files import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_whole(f"{folder}/notes.txt") as temporary:
    ...         _ = temporary.write_text("all of it", encoding="utf-8")
    ...     os.listdir(folder)
    ['notes.txt']
    """
    final = Path(path)
    if final.exists() and not final.is_file() and not final.is_dir():
        yield final
        return
    temporary = final.with_name(f".{os.urandom(8).hex()}.part{final.suffix}")
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(final)
    except OSError as error:
        full = error.filename is None and error.errno in _FULL  # of what is written, only the system knows the name
        if full or (error.filename is not None and os.fspath(error.filename) == os.fspath(temporary)):
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Have the content on the disk before the name, so that a power cut leaves the old file or the new one."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def check_readable(path: Path) -> None:
    """One sentence for files that are not there."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, but a file with data is needed.")
    if not path.exists():
        folder = path.parent
        names = [entry.name for entry in folder.iterdir() if entry.is_file()] if folder.is_dir() else []
        similar = nearest(path.name, names, cutoff=0.75)
        hint = f": did you mean {str(folder / similar)!r}?" if similar else "."
        raise ValueError(f"{path} does not exist{hint}")
