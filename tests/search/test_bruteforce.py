"""The solver against brute force on small hard problems; ``benchmarks/bruteforce.py`` runs thousands."""

from __future__ import annotations

import pytest

from safescreen.testing.hard_problems import failures, hard_problem

CHUNK = 20


@pytest.mark.parametrize("first", range(0, 400, CHUNK))
def test_against_brute_force(first):
    found = [text for seed in range(first, first + CHUNK) for text in failures(hard_problem(seed))]
    assert not found, "\n".join(found)
