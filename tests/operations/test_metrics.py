"""What GET /metrics tells.

Of one process, and of a gunicorn whose processes come and go.
"""

import re
import signal
from pathlib import Path

import pytest

from parts.metrics.metrics import DIRECTORY, Metrics
from storage.repository import Repository
from tests.support.api import environ_of
from tests.support.commanding import replace_workers
from tests.support.marker import KEY, MARK, NOWHERE, assert_no_trace
from tests.support.openapi import operations
from tests.support.problems import PROBLEMS
from tests.support.sources import section, table_rows
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until
from tests.support.watched import moved, read_metrics

WORKERS = 3
MINTS_COUNT = 30
MINTED = "deeds_operations_total{kind=mint,outcome=done}"
ROOM = "deeds_hash_queue_requests_max{}"


@pytest.fixture
def settings(sqlite_url):
    """One kind of database will do here."""
    return environ_of(sqlite_url, DEEDS_METRICS="on", DEEDS_RATE_LIMITS="qr=1/day")


@pytest.fixture
def told(api, monkeypatch):
    """The metrics after requests of many kinds."""
    item = api.mint("+5.a", key=KEY)
    api.mint("+5.a", key=KEY)
    api.swap(f"+5.{item}.a", f"+5.{item}.b")
    api.swap(f"+5.{item}.a", f"+5.{item}.c")
    api.check(f"+5.{item}.b")
    for path in (
        f"/v1/item/{item}",
        "/v1/item/nobody",
        "/item/nobody",
        "/no/such/path",
    ):
        api.get(path)
    api.http.request("MADEUP", "/v1/info")
    api.http.options("/v1/mint")
    for _ in range(3):
        api.post("/web/qr", {"texts": ["a"]})
    monkeypatch.delattr(Repository, "read_item")
    api.get(f"/v1/item/{NOWHERE}")
    return api.get("/metrics").text


def test_operations_are_counted_by_outcome(told):
    assert moved(told, "deeds_operations_total") == {
        "deeds_operations_total{kind=mint,outcome=done}": 1,
        "deeds_operations_total{kind=mint,outcome=replayed}": 1,
        "deeds_operations_total{kind=swap,outcome=done}": 1,
        "deeds_operations_total{kind=swap,outcome=spent_input}": 1,
        "deeds_operations_total{kind=check,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=item_not_found}": 1,
        "deeds_operations_total{kind=item,outcome=internal}": 1,
    }


def test_each_endpoint_has_a_kind_of_its_own_which_the_document_lists(api):
    for path, method, _ in operations(api.get("/openapi.json").json()):
        api.http.request(method, path)

    counted = moved(api.get("/metrics").text, "deeds_operations_total")
    kinds = [re.findall("kind=([a-z_]+)", name)[0] for name in counted]
    rows = table_rows(section("docs/operations/watching.md", "Metrics"))
    [labels] = [row[1] for row in rows if row[0] == "`deeds_operations_total`"]
    listed = re.match("`kind`: ([a-z_, ]+);", labels)[1].split(", ")
    assert sorted(kinds) == sorted(listed)


def test_refusals_are_counted_by_code(told):
    assert moved(told, "deeds_refusals_total") == {
        "deeds_refusals_total{code=spent_input}": 1,
        "deeds_refusals_total{code=item_not_found}": 2,
        "deeds_refusals_total{code=not_found}": 1,
        "deeds_refusals_total{code=method_not_allowed}": 1,
        "deeds_refusals_total{code=too_many_requests}": 2,
        "deeds_refusals_total{code=internal}": 1,
    }


def test_every_code_of_a_refusal_begins_with_0(api):
    series = read_metrics(api.get("/metrics").text)

    refusals = {name: series[name] for name in series if "deeds_refusals" in name}
    assert refusals == {f"deeds_refusals_total{{code={code}}}": 0 for code in PROBLEMS}


def test_requests_are_counted_by_the_rule_of_their_route(told):
    name = "deeds_request_duration_seconds_count"

    series = moved(told, name)

    assert series[f"{name}{{method=GET,route=/v1/item/<item_id>}}"] == 3
    assert series[f"{name}{{method=other,route=unmatched}}"] == 1
    assert "deed_" not in told


def test_nothing_of_a_request_is_in_the_metrics(api):
    api.mint(f"+5.{MARK}", key=MARK)
    api.http.request(MARK, f"/v1/item/{MARK}?{MARK}", headers={MARK: MARK})

    assert_no_trace(api.get("/metrics").content)


def test_hashes_are_counted_by_class_with_their_time(api):
    secrets = [make_strong_secret() for _ in range(2)]
    api.mint("+5.a", "+5.b", "+5.c", *[f"+5.{secret}" for secret in secrets])

    series = read_metrics(api.get("/metrics").text)

    assert series["deeds_hash_seconds_count{secret_class=ordinary}"] == 3
    assert series["deeds_hash_seconds_count{secret_class=strong}"] == 2
    assert series["deeds_hash_seconds_sum{secret_class=ordinary}"] > 0
    assert series["deeds_hash_seconds_sum{secret_class=strong}"] > 0


def test_the_queue_of_ordinary_secrets_is_told_while_it_is_there(api, hash_costs):
    texts = []
    hash_costs.meanwhile = lambda: texts.append(api.get("/metrics").text)

    api.mint("+5.a", "+5.b")
    texts.append(api.get("/metrics").text)

    during, after = (moved(text, "deeds_hash_queue") for text in texts)
    assert during == {
        ROOM: 24,
        "deeds_hash_queue_requests{}": 1,
        "deeds_hash_queue_hashes{}": 2,
    }
    assert after == {ROOM: 24}


def test_a_read_waits_for_a_file_that_a_worker_has_just_created(
    tmp_path, monkeypatch, thread
):
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    metrics = Metrics([], requests_max=1)
    created = tmp_path / "counter_0.db"
    created.touch()

    reading = thread.submit(metrics.text)
    with pytest.raises(TimeoutError):
        reading.result(timeout=0.05)
    created.write_bytes(bytes(65_536))

    assert reading.result(timeout=30) == b""


@pytest.fixture
def service(gunicorn_service):
    """A service of several processes, each of which serves."""
    service = gunicorn_service(
        DEEDS_METRICS="on",
        DEEDS_ARGON2="m=8,t=1,p=1",
        WEB_CONCURRENCY=str(WORKERS),
    )
    wait_until_all_serve(service)
    return service


def figures(service):
    return read_metrics(service.get("/metrics").text)


def wait_until_all_serve(service):
    """Wait until every process has told its room."""
    wait_until(lambda: figures(service).get(ROOM) == WORKERS * 24)


def mint_some(service):
    """Mint over new connections, which any process may take."""
    with service.open_api() as api:
        api.http.headers["Connection"] = "close"
        for _ in range(MINTS_COUNT):
            api.mint(f"+1.{MARK}")


def test_every_process_tells_the_sum_of_all(service):
    mint_some(service)
    service.send_bytes(b"garbage\r\n\r\n")

    told = [figures(service) for _ in range(3 * WORKERS)]

    assert {each[MINTED] for each in told} == {MINTS_COUNT}
    assert {each["deeds_refusals_total{code=bad_request}"] for each in told} == {1}


@pytest.mark.slow
def test_counts_outlive_the_processes_that_counted(service):
    mint_some(service)
    for victim in service.workers:
        replace_workers(service, victim, signal.SIGKILL)
        wait_until_all_serve(service)
    mint_some(service)
    replace_workers(service, service.process, signal.SIGHUP)
    wait_until_all_serve(service)
    mint_some(service)

    assert figures(service)[MINTED] == 3 * MINTS_COUNT


@pytest.mark.slow
def test_there_are_never_more_files_than_workers_and_none_after_the_end(service):
    [victim, *_] = service.workers
    opened = {Path(file.path).parent for file in victim.open_files()}
    [directory] = [path for path in opened if path.name.startswith("deeds-metrics-")]

    replace_workers(service, victim, signal.SIGKILL)
    wait_until_all_serve(service)

    numbers = {path.stem.rpartition("_")[2] for path in directory.iterdir()}
    assert numbers == {str(number) for number in range(WORKERS)}
    assert directory.stat().st_mode & 0o077 == 0
    service.process.terminate()
    service.process.wait(timeout=30)
    assert not directory.exists()
