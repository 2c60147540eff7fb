"""Text of any origin inside a page: in HTML, and in JSON inside a script element.

Names of features and labels come from data files, so anything may be in them: tags, quotes, line separators,
halves of surrogate pairs that no encoding accepts.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

_UNENCODABLE = re.compile("[\ud800-\udfff]")
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # not allowed in HTML, whatever the notation
_REPLACEMENT = "\ufffd"
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_DANGEROUS = re.compile("|".join(map(re.escape, _IN_SCRIPT)))


def plain(value: object) -> str:
    """Text that every encoding and every parser accepts."""
    return _INVISIBLE.sub(_REPLACEMENT, _UNENCODABLE.sub(_REPLACEMENT, str(value)))


def escaped(value: object) -> str:
    """Text for an element or a quoted attribute."""
    return html.escape(plain(value), quote=True)


def script_json(value: Any) -> str:
    """Compact JSON that cannot end the script element it stands in; other alphabets stay as they are, being shorter."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _DANGEROUS.sub(lambda match: _IN_SCRIPT[match.group()], _UNENCODABLE.sub(_REPLACEMENT, text))


def shortened(name: str, length: int) -> str:
    """A name of at most ``length`` characters: its middle is left out, since names often differ at their ends."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"
