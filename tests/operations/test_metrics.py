"""What GET /metrics tells.

Of one process, and of a gunicorn whose processes come and go.
"""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from deeds.blueprints.problems import PROBLEMS
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import parse_rate_limits
from tests.support.marker import MARK, assert_no_trace
from tests.support.racing import client_of_port
from tests.support.requests import check, mint, post, swap
from tests.support.serving import children
from tests.support.waiting import wait_until
from tests.support.watched import moved, read_metrics
from tests.support.ways_to_fail import Ground, meet_a_defect

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
WORKERS = 3
MINTS_COUNT = 30
MINTED = "deeds_operations_total{kind=mint,outcome=done}"
ROOM = "deeds_hash_queue_requests_max{secret_class=ordinary}"


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.fixture
def settings(settings):
    limits = parse_rate_limits("qr=1/day")
    return replace(settings, metrics="on", rate_limits=limits)


def metrics(client):
    return client.get("/metrics").text


def test_requests_are_counted_by_outcome_and_the_rule_of_their_route(
    client, settings, open_app, monkeypatch
):
    before = read_metrics(metrics(client))
    item = mint(client, "+5.a", key=KEY)
    mint(client, "+5.a", key=KEY)
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])
    check(client, f"+5.{item}.b")
    for path in (
        f"/v1/item/{item}",
        "/v1/item/nobody",
        "/item/nobody",
        "/no/such/path",
    ):
        client.get(path)
    client.open("/v1/info", method="MADEUP")
    client.options("/v1/mint")
    for _ in range(3):
        post(client, "/web/qr", {"texts": ["a"]})
    meet_a_defect(Ground(client, item, settings, open_app, monkeypatch))

    told = metrics(client)
    assert moved(told, "deeds_operations_total") == {
        "deeds_operations_total{kind=mint,outcome=done}": 1,
        "deeds_operations_total{kind=mint,outcome=replayed}": 1,
        "deeds_operations_total{kind=swap,outcome=done}": 1,
        "deeds_operations_total{kind=swap,outcome=spent_input}": 1,
        "deeds_operations_total{kind=check,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=item_not_found}": 2,
        "deeds_operations_total{kind=item,outcome=internal}": 1,
    }
    # Every code begins with 0.
    refusals = {
        name: value for name, value in before.items() if "deeds_refusals" in name
    }
    assert refusals == {f"deeds_refusals_total{{code={code}}}": 0 for code in PROBLEMS}
    assert moved(told, "deeds_refusals_total") == {
        "deeds_refusals_total{code=spent_input}": 1,
        "deeds_refusals_total{code=item_not_found}": 2,
        "deeds_refusals_total{code=not_found}": 1,
        "deeds_refusals_total{code=method_not_allowed}": 1,
        "deeds_refusals_total{code=too_many_requests}": 2,
        "deeds_refusals_total{code=internal}": 1,
    }
    requests = moved(told, "deeds_request_duration_seconds_count")
    assert (
        requests[
            "deeds_request_duration_seconds_count{method=GET,route=/v1/item/<item_id>}"
        ]
        == 3
    )
    assert (
        requests["deeds_request_duration_seconds_count{method=other,route=unmatched}"]
        == 1
    )
    assert item not in told


def test_hashes_are_counted_by_class_with_their_time(client):
    secrets = [make_strong_secret() for _ in range(2)]
    mint(client, "+5.a", "+5.b", "+5.c", *[f"+5.{secret}" for secret in secrets])

    series = read_metrics(metrics(client))

    for name, count in (("ordinary", 3), ("strong", 2)):
        assert series[f"deeds_hashes_total{{secret_class={name}}}"] == count
        assert series[f"deeds_hash_seconds_total{{secret_class={name}}}"] > 0


def test_the_queue_of_ordinary_secrets_is_told_while_it_is_there(client, hash_costs):
    during = {}
    hash_costs.meanwhile = lambda: during.update(
        moved(metrics(client), "deeds_hash_queue")
    )

    mint(client, "+5.a", "+5.b")

    assert during == {
        ROOM: 24,
        "deeds_hash_queue_requests{secret_class=ordinary}": 1,
        "deeds_hash_queue_hashes{secret_class=ordinary}": 2,
    }
    assert moved(metrics(client), "deeds_hash_queue") == {ROOM: 24}


def mint_some(service):
    """Mint over new connections, which any process may take."""
    for _ in range(MINTS_COUNT):
        with client_of_port(service.port) as send:
            assert send("/v1/mint", {"outputs": [f"+1.{MARK}"]})[0] == 200


def figures(service):
    return read_metrics(service.get_text("/metrics"))


def workers(service):
    return set(children(service.process.pid))


def wait_for_all_workers(service):
    """Wait until every process serves: then it has told its room."""
    wait_until(
        lambda: (
            len(workers(service)) == WORKERS and figures(service)[ROOM] == WORKERS * 24
        )
    )


def directory_of(service):
    """Return where the processes count: each holds its files open."""
    opened = Path(f"/proc/{min(workers(service))}/fd").iterdir()
    # A connection may be closed meanwhile: what is gone is resolved to itself.
    parents = {each.resolve().parent for each in opened}
    [directory] = [each for each in parents if each.name.startswith("deeds-metrics-")]
    return directory


def test_every_process_tells_the_sum_of_all_killed_ones_included(
    gunicorn_service,
):
    settings = {"DEEDS_ARGON2": "m=8,t=1,p=1", "WEB_CONCURRENCY": str(WORKERS)}
    service = gunicorn_service(DEEDS_METRICS="on", **settings)
    wait_for_all_workers(service)
    directory = directory_of(service)
    mint_some(service)
    service.send_bytes(f"{MARK} /{MARK} HTTP/1.1\r\nHost: {MARK}\r\n\r\n".encode())
    service.get_status(f"/v1/item/{MARK}?{MARK}")

    assert {figures(service)[MINTED] for _ in range(3 * WORKERS)} == {MINTS_COUNT}
    assert figures(service)["deeds_refusals_total{code=bad_request}"] == 1
    assert_no_trace(service.get_text("/metrics").encode())
    assert_no_trace(service.log.read_bytes())

    for victim in workers(service):
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda gone=victim: gone not in workers(service))
        wait_for_all_workers(service)
    mint_some(service)

    assert figures(service)[MINTED] == 2 * MINTS_COUNT
    # A worker goes on in the files of the one that it follows.
    numbers = {path.stem.rpartition("_")[2] for path in directory.iterdir()}
    assert numbers == {str(number) for number in range(WORKERS)}

    before = workers(service)
    os.kill(service.process.pid, signal.SIGHUP)
    wait_until(lambda: not before & workers(service))
    wait_for_all_workers(service)
    mint_some(service)

    assert figures(service)[MINTED] == 3 * MINTS_COUNT
    assert directory.stat().st_mode & 0o077 == 0

    os.kill(service.process.pid, signal.SIGTERM)
    service.process.wait(timeout=30)
    assert not directory.exists()
