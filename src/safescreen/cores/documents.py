"""A core for other programs."""

from __future__ import annotations

from typing import Any

from safescreen.cores.result import Core


def answer(core: Core) -> dict[str, Any]:
    """What was found and what is proved of it."""
    listed = zip(core.names, core.features.tolist(), core.gain.tolist(), strict=True)
    return {
        "within": core.within,
        "at_least": core.at_least,
        "sentence": core.sentence,
        "n_core": len(core),
        **{name: getattr(core, name) for name in ("objective", "threshold", "lower_bound", "seconds")},
        "features": [{"name": name, "index": j, "gain": gain} for name, j, gain in listed],
    }
