"""``python -m safescreen.cli``."""

from . import main

main()
