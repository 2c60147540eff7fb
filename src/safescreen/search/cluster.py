"""Branch and bound on a cluster: the root, models and bounds here, the tree where the workers are."""

from __future__ import annotations

from typing import Any

from safescreen.search.cluster_post import DaskPost, check_client
from safescreen.search.crew import Crew
from safescreen.search.fleet import Fleet
from safescreen.search.tree_search import Recruit
from safescreen.search.watch import Watch
from safescreen.search.workers import Workshop


def crew_on(client: Any) -> Recruit:
    """Whoever makes crews of the workers of a `dask.distributed` client."""
    check_client(client)

    def recruit(workshop: Workshop, watch: Watch) -> Crew:
        return Fleet(workshop.first_worker(), DaskPost(client, workshop.assignment), lambda: watch.seconds_left)

    return recruit
