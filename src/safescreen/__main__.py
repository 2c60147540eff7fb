"""``python -m safescreen``."""

from safescreen.cli import main

main()
