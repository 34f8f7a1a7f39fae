"""Many more random walks than `make test` has: `make operations`."""

import client_walk
import pytest

RUNS_COUNT = 200


@pytest.mark.parametrize("kind", [client_walk.Walk, client_walk.WalkOfCopies])
def test_many_random_walks_lose_and_double_nothing(
    database_url, kind, gunicorn_service, seed, report
):
    report(client_walk.walk(gunicorn_service, database_url, seed, RUNS_COUNT, kind))
