"""What a set of measurements was made on: seconds mean nothing without it."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

from safescreen import __version__


@cache
def machine() -> str:
    """Processor and versions."""
    libraries = (f"{name} {metadata.version(name.lower())}" for name in ("NumPy", "SciPy", "Numba"))
    versions = ", ".join([f"Python {platform.python_version()}", *libraries, f"safescreen {__version__}"])
    return f"{_processor()}, {os.cpu_count()} cores; {versions}"


def _processor() -> str:
    """The processor's name where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
