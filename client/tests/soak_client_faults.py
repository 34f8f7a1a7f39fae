"""Many more random walks than `make test` has: `make operations`."""

import client_walk
import pytest

PARTS_COUNT = 4  # So that no worker waits long for the last one.
RUNS_COUNT = 50


@pytest.mark.parametrize("part", range(PARTS_COUNT))
@pytest.mark.parametrize("kind", [client_walk.Walk, client_walk.WalkOfCopies])
def test_many_random_walks_lose_and_double_nothing(
    database_url, kind, part, gunicorn_service, seed, report
):
    first = seed + part * RUNS_COUNT
    report(client_walk.walk(gunicorn_service, database_url, first, RUNS_COUNT, kind))
