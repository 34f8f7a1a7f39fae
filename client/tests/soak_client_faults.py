"""Many more random walks than `make test` has: `make operations`."""

import client_walk

RUNS_COUNT = 200


def test_many_random_walks_lose_and_double_nothing(
    database_url, gunicorn_service, seed, report
):
    report(client_walk.walk(gunicorn_service, database_url, seed, RUNS_COUNT))
