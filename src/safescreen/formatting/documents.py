"""Results as plain JSON, which other programs read without this one."""

from __future__ import annotations

import json
import math
from os import PathLike, fspath
from typing import Any


def plain(value: Any) -> Any:
    """Lists, dicts, numbers and strings only; a number that JSON does not have becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return fspath(value) if isinstance(value, PathLike) else value


def json_text(document: Any) -> str:
    """The text of a document, with a line break at its end."""
    return json.dumps(plain(document), indent=1, allow_nan=False) + "\n"
