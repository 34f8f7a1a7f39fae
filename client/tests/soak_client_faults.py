"""Many more random walks than `make test` has: `make operations`."""

import pytest
from client_walk import walk

RUNS_COUNT = 20


# In parts, so that no worker waits long for the last one.
@pytest.mark.parametrize("part", range(6))
def test_many_random_walks_lose_and_double_nothing(sqlite_template, part, seed, report):
    report(walk(sqlite_template, seed + part * RUNS_COUNT, RUNS_COUNT))
