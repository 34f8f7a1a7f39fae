"""Many more random walks than `make test` has: `make operations`."""

import pytest
from client_walk import Walk, WalkOfCopies, walk

RUNS_COUNT = 20
# In parts, so that no worker waits long for the last one.
PARTS = [(Walk, part) for part in range(2)]
PARTS += [(WalkOfCopies, part) for part in range(4)]


@pytest.mark.parametrize(("kind", "part"), PARTS)
def test_many_random_walks_lose_and_double_nothing(
    database_url, kind, part, gunicorn_service, seed, report
):
    first = seed + part * RUNS_COUNT
    report(walk(gunicorn_service, database_url, first, RUNS_COUNT, kind))
