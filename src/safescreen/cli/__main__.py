"""``python -m safescreen.cli``."""

from safescreen.cli import main

main()
