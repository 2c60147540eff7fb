"""What every good model uses: safe screening of groups."""

from safescreen.cores.asking import core
from safescreen.cores.documents import answer
from safescreen.cores.result import TOLERANCES, Core, CoreCurve

__all__ = ["TOLERANCES", "Core", "CoreCurve", "answer", "core"]
