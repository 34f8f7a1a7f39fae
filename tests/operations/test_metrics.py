"""GET /metrics: of one process, and of a gunicorn whose processes are replaced."""

import re
import signal
from pathlib import Path

import pytest

from storage.repository import Repository
from tests.support.api import environ_of, refusal
from tests.support.commanding import replace_workers
from tests.support.marker import MARK, NOWHERE, assert_no_trace
from tests.support.openapi import operations
from tests.support.problems import PROBLEMS
from tests.support.sources import section, table_rows
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until
from tests.support.watched import nonzero_series, read_metrics

WORKERS = 3
MINTS_COUNT = 30
MINTED = "deeds_operations_total{kind=mint,outcome=done}"
ROOM = "deeds_hash_queue_requests_max{}"


@pytest.fixture
def settings(sqlite_url):
    """These tests do not depend on the kind of database."""
    return environ_of(sqlite_url, DEEDS_METRICS="on", DEEDS_RATE_LIMITS="qr=1/day")


def test_operations_refusals_and_requests_are_counted_and_nothing_is_quoted(
    api, monkeypatch
):
    item = api.mint(f"+5.{MARK}", key=MARK)
    api.mint(f"+5.{MARK}", key=MARK)
    api.swap(f"+5.{item}.{MARK}", f"+5.{item}.b")
    api.swap(f"+5.{item}.{MARK}", f"+5.{item}.c")
    api.check(f"+5.{item}.b")
    for path in (f"/v1/item/{item}", f"/v1/item/{MARK}", f"/{MARK}?{MARK}"):
        api.get(path)
    api.http.request(MARK, "/v1/info", headers={MARK: MARK})
    for _ in range(3):
        api.post("/web/qr", {"texts": ["a"]})
    monkeypatch.delattr(Repository, "read_item")
    api.get(f"/v1/item/{NOWHERE}")

    text = api.get("/metrics").text

    assert nonzero_series(text, "deeds_operations_total") == {
        MINTED: 1,
        "deeds_operations_total{kind=mint,outcome=replayed}": 1,
        "deeds_operations_total{kind=swap,outcome=done}": 1,
        "deeds_operations_total{kind=swap,outcome=spent_input}": 1,
        "deeds_operations_total{kind=check,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=item_not_found}": 1,
        "deeds_operations_total{kind=item,outcome=internal}": 1,
    }
    assert nonzero_series(text, "deeds_refusals_total") == {
        "deeds_refusals_total{code=spent_input}": 1,
        "deeds_refusals_total{code=item_not_found}": 1,
        "deeds_refusals_total{code=not_found}": 1,
        "deeds_refusals_total{code=method_not_allowed}": 1,
        "deeds_refusals_total{code=too_many_requests}": 2,
        "deeds_refusals_total{code=internal}": 1,
    }
    name = "deeds_request_duration_seconds_count"
    series = nonzero_series(text, name)
    assert series[f"{name}{{method=GET,route=/v1/item/<item_id>}}"] == 3
    assert series[f"{name}{{method=other,route=unmatched}}"] == 1
    assert item not in text
    assert_no_trace(text.encode())


def test_each_endpoint_has_a_kind_of_its_own_which_the_document_lists(api):
    for path, method, _ in operations(api.get("/openapi.json").json()):
        api.http.request(method, path)

    counted = nonzero_series(api.get("/metrics").text, "deeds_operations_total")
    kinds = [re.findall("kind=([a-z_]+)", name)[0] for name in counted]
    rows = table_rows(section("docs/operations/watching.md", "Metrics"))
    [labels] = [row[1] for row in rows if row[0] == "`deeds_operations_total`"]
    listed = re.match("`kind`: ([a-z_, ]+);", labels)[1].split(", ")
    assert sorted(kinds) == sorted(listed)


def test_every_code_of_a_refusal_starts_at_0(api):
    series = read_metrics(api.get("/metrics").text)

    refusals = {name: series[name] for name in series if "deeds_refusals" in name}
    assert refusals == {f"deeds_refusals_total{{code={code}}}": 0 for code in PROBLEMS}


def test_hashes_are_counted_by_class_with_their_time(api):
    secrets = [make_strong_secret() for _ in range(2)]
    api.mint("+5.a", "+5.b", "+5.c", *[f"+5.{secret}" for secret in secrets])

    series = read_metrics(api.get("/metrics").text)

    assert series["deeds_hash_seconds_count{secret_class=ordinary}"] == 3
    assert series["deeds_hash_seconds_count{secret_class=strong}"] == 2
    assert series["deeds_hash_seconds_sum{secret_class=ordinary}"] > 0
    assert series["deeds_hash_seconds_sum{secret_class=strong}"] > 0


def test_the_queue_of_ordinary_secrets_is_counted(api, hash_costs):
    texts = []
    hash_costs.meanwhile = lambda: texts.append(api.get("/metrics").text)

    api.mint("+5.a", "+5.b")
    texts.append(api.get("/metrics").text)

    during, after = (nonzero_series(text, "deeds_hash_queue") for text in texts)
    assert during == {
        ROOM: 24,
        "deeds_hash_queue_requests{}": 1,
        "deeds_hash_queue_hashes{}": 2,
    }
    assert after == {ROOM: 24}


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
    """Wait until every process has reported the size of its queue."""
    wait_until(lambda: figures(service).get(ROOM) == WORKERS * 24)


def mint_some(service):
    """Mint over new connections, which any process may take."""
    with service.open_api() as api:
        api.http.headers["Connection"] = "close"
        for _ in range(MINTS_COUNT):
            api.mint(f"+1.{MARK}")


@pytest.mark.slow
def test_the_sum_of_all_processes_outlives_them_and_their_files_do_not(service):
    opened = {Path(file.path).parent for file in service.workers[0].open_files()}
    [directory] = [path for path in opened if path.name.startswith("deeds-metrics-")]
    mint_some(service)
    service.send_bytes(b"garbage\r\n\r\n")
    before = [figures(service) for _ in range(3 * WORKERS)]
    for victim in service.workers:
        replace_workers(service, victim, signal.SIGKILL)
        wait_until_all_serve(service)
    numbers = {path.stem.rpartition("_")[2] for path in directory.iterdir()}
    replace_workers(service, service.process, signal.SIGHUP)
    wait_until_all_serve(service)
    mint_some(service)

    assert {series[MINTED] for series in before} == {MINTS_COUNT}
    refusals = "deeds_refusals_total{code=bad_request}"
    assert {series[refusals] for series in before} == {1}
    assert figures(service)[MINTED] == 2 * MINTS_COUNT
    # A new worker reuses the files of an old one.
    assert numbers == {str(number) for number in range(WORKERS)}
    assert directory.stat().st_mode & 0o077 == 0
    service.process.terminate()
    service.process.wait(timeout=30)
    assert not directory.exists()


def test_metrics_are_text_for_prometheus_if_they_are_on(api, open_api):
    answer = api.get("/metrics")

    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in answer.headers
    off = open_api(DEEDS_METRICS="off").get("/metrics")
    assert refusal(off) == (404, "not_found", None)
