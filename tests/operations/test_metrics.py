"""What GET /metrics counts, and where it is served at all."""

from dataclasses import replace

import pytest

from deeds.blueprints.problem_table import PROBLEMS
from deeds.domain.model import SecretClass
from deeds.domain.protocols import NoMeasures
from deeds.domain.strong_secret import make_strong_secret
from deeds.settings import MetricsPlace, parse_rate_limits
from tests.support.hashes_held import HeldHashes
from tests.support.requests import check, mint, post, swap
from tests.support.watched import moved, read_metrics
from tests.support.ways_to_fail import WAYS, Ground, meet_a_defect

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.fixture
def settings(settings):
    return replace(settings, metrics=MetricsPlace(is_on=True))


def by_the_worker(way):
    return way.__qualname__.startswith("refuse_in_the_worker")


def metrics(client):
    return client.get("/metrics").text


def test_operations_are_counted_by_kind_and_outcome(client):
    item = mint(client, "+5.a", key=KEY)
    mint(client, "+5.a", key=KEY)
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])
    check(client, f"+5.{item}.b")
    client.get(f"/v1/item/{item}")
    client.get("/v1/item/nobody")
    client.options("/v1/mint")

    assert moved(metrics(client), "deeds_operations_total") == {
        "deeds_operations_total{kind=mint,outcome=done}": 1,
        "deeds_operations_total{kind=mint,outcome=replayed}": 1,
        "deeds_operations_total{kind=swap,outcome=done}": 1,
        "deeds_operations_total{kind=swap,outcome=spent_input}": 1,
        "deeds_operations_total{kind=check,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=done}": 1,
        "deeds_operations_total{kind=item,outcome=item_not_found}": 1,
    }


def test_every_code_is_there_before_it_was_ever_answered(client):
    series = read_metrics(metrics(client))

    refusals = {name: value for name, value in series.items() if name.startswith("deeds_refusals")}
    assert refusals == {f"deeds_refusals_total{{code={code}}}": 0 for code in PROBLEMS}


# These take an application of other settings, which counts by itself.
LIMITED = {
    "too_many_failures": ("failures=1/day", "/v1/check", {"outputs": ["+1.deed_0.a"]}),
    "too_many_requests": ("mint=1/day", "/v1/mint", {"outputs": ["+1.a"]}),
}


@pytest.mark.parametrize("code", LIMITED)
def test_a_client_over_its_limit_is_counted(settings, open_app, code):
    limits, path, body = LIMITED[code]
    client = open_app(replace(settings, rate_limits=parse_rate_limits(limits))).test_client()

    for _ in range(2):
        post(client, path, body)

    counted = moved(metrics(client), "deeds_refusals_total")
    assert counted == {f"deeds_refusals_total{{code={code}}}": 1}


# What the worker refuses is counted where a real gunicorn runs: test_metrics_processes.py.
IN_THE_APPLICATION = {
    name: (code, way)
    for name, (code, _, way) in WAYS.items()
    if not by_the_worker(way) and code not in LIMITED
}


@pytest.mark.parametrize(
    ("code", "way"), IN_THE_APPLICATION.values(), ids=IN_THE_APPLICATION.keys()
)
def test_a_refusal_is_counted_by_its_code(client, settings, open_app, monkeypatch, code, way):
    item_id = mint(client, "+5.a", "+3.b")
    swap(client, [f"+3.{item_id}.b"], [f"+3.{item_id}.c"])

    way(Ground(client, item_id, settings, open_app, monkeypatch))

    counted = moved(metrics(client), "deeds_refusals_total")
    assert counted == {f"deeds_refusals_total{{code={code}}}": 1}


def test_requests_are_counted_by_the_rule_of_their_route_and_never_by_their_path(client):
    client.get("/v1/item/one")
    client.get("/v1/item/two")
    client.get("/no/such/path")
    client.open("/v1/info", method="MADEUP")

    assert moved(metrics(client), "deeds_request_duration_seconds_count") == {
        "deeds_request_duration_seconds_count{method=GET,route=/v1/item/<item_id>}": 2,
        "deeds_request_duration_seconds_count{method=GET,route=unmatched}": 1,
        "deeds_request_duration_seconds_count{method=other,route=unmatched}": 1,
    }


def test_the_latency_has_buckets_from_a_millisecond_to_ten_seconds(client):
    client.get("/v1/info")

    bounds = [
        float(name.partition("le=")[2].partition(",")[0])
        for name in read_metrics(metrics(client))
        if name.startswith("deeds_request_duration_seconds_bucket") and "/v1/info" in name
    ]
    assert (bounds[0], bounds[-2:], len(bounds)) == (0.001, [10.0, float("inf")], 14)


def test_hashes_are_counted_by_lane_with_their_time(client):
    secrets = [make_strong_secret() for _ in range(2)]
    mint(client, "+5.a", "+5.b", "+5.c", *[f"+5.{secret}" for secret in secrets])

    series = read_metrics(metrics(client))

    assert series["deeds_hashes_total{lane=ordinary}"] == 3
    assert series["deeds_hashes_total{lane=strong}"] == 2
    assert series["deeds_hash_seconds_total{lane=ordinary}"] > 0
    assert series["deeds_hash_seconds_total{lane=strong}"] > 0


def test_the_queue_of_ordinary_secrets_is_told_while_it_is_there(client, monkeypatch):
    with HeldHashes(monkeypatch) as held:
        minting = held.start(mint, client, "+5.a", "+5.b")
        during = moved(metrics(client), "deeds_hash_queue")
    minting.result()

    most = {"deeds_hash_queue_requests_max{lane=ordinary}": 24}
    assert during == most | {
        "deeds_hash_queue_requests{lane=ordinary}": 1,
        "deeds_hash_queue_hashes{lane=ordinary}": 2,
    }
    assert moved(metrics(client), "deeds_hash_queue") == most


def test_without_the_setting_nothing_is_served_or_counted(settings, open_app):
    app = open_app(replace(settings, metrics=MetricsPlace()))

    answer = app.test_client().get("/metrics")

    assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")
    assert "deeds.domain.measures" not in app.extensions


def test_metrics_are_text_for_prometheus_that_nobody_keeps(client):
    answer = client.get("/metrics")

    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain; version=")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_an_address_of_their_own_is_the_only_one_that_serves_them(settings, open_app):
    place = MetricsPlace(is_on=True, address="127.0.0.1:9464")
    client = open_app(replace(settings, metrics=place)).test_client()

    here = client.get("/metrics")
    claimed = client.get("/metrics", headers={"Host": "x:9464"})
    other = client.get("/v1/info", base_url="http://x:9464")

    assert [each.status_code for each in (here, claimed, other)] == [404, 404, 404]


def test_who_counts_nothing_takes_the_same_calls():
    measures = NoMeasures()

    measures.count_request("/v1/info", "GET", 0.1)
    measures.count_operation("mint", "done")
    measures.count_refusal("not_found")
    measures.count_hashes(SecretClass.STRONG, 1, 0.1)
    measures.set_queue(1, 1)
    measures.count_retry("conflict")


def test_a_defect_is_counted_as_one(client, settings, open_app, monkeypatch):
    meet_a_defect(Ground(client, f"deed_{26 * '0'}", settings, open_app, monkeypatch))

    assert moved(metrics(client), "deeds_operations_total") == {
        "deeds_operations_total{kind=item,outcome=internal}": 1
    }
