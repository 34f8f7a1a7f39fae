"""What the service really answers is what the OpenAPI document says of it."""

import json

import pytest
from argon2.exceptions import HashingError
from werkzeug.datastructures import Headers
from werkzeug.wrappers import Response

from tests.support.openapi import answer_faults, read_document
from tests.support.requests import mint, post, swap

KEY = {"Idempotency-Key": "8e03978e-40d5-43e8-bc93-6894a57f9324"}
MOST = 9007199254740991

PATHS = {"mint": "/v1/mint", "swap": "/v1/swap", "check": "/v1/check", "readInfo": "/v1/info"}

# Operation, body, code; ITEM is an item with the outputs +5.live, +2.new and the spent +2.old.
REFUSED = [
    ("mint", {"outputs": []}, "invalid_request"),
    ("mint", {"outputs": ["+1.a"], "metdata": {}}, "invalid_request"),
    ("mint", {"outputs": ["+1.a", "+1.a"]}, "duplicate_secret"),
    ("mint", {"outputs": [f"+{MOST}.a", "+1.b"]}, "total_too_large"),
    ("swap", {"inputs": ["+5.ITEM.live"], "outputs": ["+4.ITEM.a"]}, "unbalanced"),
    ("swap", {"inputs": 2 * ["+5.ITEM.live"], "outputs": ["+10.ITEM.a"]}, "duplicate_input"),
    ("swap", {"inputs": ["+5.ITEM.live"], "outputs": ["+5.ITEM.live"]}, "duplicate_secret"),
    ("swap", {"inputs": ["+5.deed_a.a"], "outputs": ["+5.deed_a.b"]}, "unknown_item"),
    ("swap", {"inputs": ["+5.ITEM.wrong"], "outputs": ["+5.ITEM.a"]}, "unknown_input"),
    ("swap", {"inputs": ["+2.ITEM.old"], "outputs": ["+2.ITEM.a"]}, "spent_input"),
    ("swap", {"inputs": ["+2.ITEM.new"], "outputs": ["+2.ITEM.old"]}, "used_secret"),
    ("check", {"outputs": ["5"]}, "invalid_request"),
]

# Operation, bytes, headers, code.
UNREAD = [
    ("mint", b"{", {}, "invalid_json"),
    ("swap", b"{}", {"Content-Type": "text/plain"}, "wrong_media_type"),
    ("check", 1_048_577 * b" ", {}, "body_too_large"),
    ("mint", b'{"outputs":["+1.a"]}', {"Idempotency-Key": "é"}, "invalid_idempotency_key"),
]

# What the server refuses, most of it before the app is called: rest of the request line, of the
# headers, body, code.
NOT_HTTP = [
    (b"", b"A\r\n", b"", "bad_request"),
    (b"?" + 5000 * b"a", b"", b"", "uri_too_long"),
    (b"", b"A: " + 33_000 * b"a" + b"\r\n", b"", "headers_too_large"),
    (b"", b"Expect: cake\r\n", b"", "expectation_failed"),
]


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


@pytest.fixture
def document(client):
    return read_document(client)


@pytest.fixture
def item_id(client):
    """An item with the outputs +5.live, +2.new and the spent +2.old."""
    item_id = mint(client, "+5.live", "+2.old")
    swapped = swap(client, [f"+2.{item_id}.old"], [f"+2.{item_id}.new"])
    assert swapped.status_code == 200
    return item_id


@pytest.mark.parametrize(
    ("operation_id", "body"),
    [
        ("mint", {"outputs": ["+1.a", "+2.b.c"], "metadata": {"name": "é"}}),
        ("mint", {"outputs": [{"amount": MOST, "secret": "a"}], "metadata": None}),
        ("swap", {"inputs": ["+5.ITEM.live"], "outputs": ["+2.ITEM.a", "+3.ITEM.b"]}),
        ("check", {"outputs": ["+5.ITEM.live", "+2.ITEM.old", "+5.ITEM.never"]}),
    ],
)
def test_answers_to_good_requests_are_as_described(client, document, item_id, operation_id, body):
    sent = json.loads(json.dumps(body).replace("ITEM", item_id))

    answer = post(client, PATHS[operation_id], sent)

    assert answer.status_code == 200
    assert answer_faults(document, operation_id, answer) == []


@pytest.mark.parametrize("metadata", [None, {"name": "é"}])
def test_items_are_as_described(client, document, metadata):
    minted = post(client, "/v1/mint", {"outputs": ["+5.a"], "metadata": metadata})
    path = f"/v1/item/{minted.get_json()['itemId']}"

    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})

    assert (first.status_code, again.status_code) == (200, 304)
    assert answer_faults(document, "readItem", first) == []
    assert answer_faults(document, "readItem", again) == []


@pytest.mark.parametrize("item_id", ["deed_none", "deed_a%2Fb", ""])
def test_missing_items_are_as_described(client, document, item_id):
    answer = client.get(f"/v1/item/{item_id}")

    assert answer.status_code == 404
    assert answer_faults(document, "readItem", answer) == []


def test_the_info_is_as_described_and_its_own_example(client, document):
    answer = client.get("/v1/info")

    described = document["paths"]["/v1/info"]["get"]["responses"]["200"]
    example = described["content"]["application/json"]["examples"]["this"]["value"]
    assert answer_faults(document, "readInfo", answer) == []
    assert answer.get_json() == example


def test_a_replayed_answer_is_as_described(client, document):
    request = {"outputs": ["+5.a"]}

    first, again, other = (
        client.post("/v1/mint", json=body, headers=KEY)
        for body in (request, request, {"outputs": ["+5.b"]})
    )

    assert [first.status_code, again.status_code, other.status_code] == [200, 200, 422]
    assert again.headers["Idempotency-Replayed"] == "true"
    for answer in (first, again, other):
        assert answer_faults(document, "mint", answer) == []


@pytest.mark.parametrize(("operation_id", "body", "code"), REFUSED)
def test_refusals_are_as_described(client, document, item_id, operation_id, body, code):
    sent = json.loads(json.dumps(body).replace("ITEM", item_id))

    answer = post(client, PATHS[operation_id], sent)

    assert answer.get_json()["code"] == code
    assert answer_faults(document, operation_id, answer) == []


@pytest.mark.parametrize(("operation_id", "body", "headers", "code"), UNREAD)
def test_refusals_of_what_cannot_be_read_are_as_described(
    client, document, operation_id, body, headers, code
):
    sent = {"Content-Type": "application/json", **headers}

    answer = client.post(PATHS[operation_id], data=body, headers=sent)

    assert answer.get_json()["code"] == code
    assert answer_faults(document, operation_id, answer) == []


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [(HashingError, 503, "overloaded"), (ValueError, 500, "internal")],
)
def test_failures_are_as_described(client, document, monkeypatch, failure, status, code):
    def fail(*_args, **_kwargs):
        raise failure

    monkeypatch.setattr("deeds.domain.hashing.hash_secret_raw", fail)

    answer = post(client, "/v1/mint", {"outputs": ["+1.a"]})

    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert answer_faults(document, "mint", answer) == []


def test_refusals_of_what_is_not_http_are_as_described(gunicorn_service, document):
    service = gunicorn_service()

    for line, headers, body, code in NOT_HTTP:
        head = b"POST /v1/swap" + line + b" HTTP/1.1\r\nHost: a\r\n" + headers + b"\r\n"
        answer = parsed(service.send_bytes(head + body))
        assert answer.get_json()["code"] == code
        assert answer_faults(document, "swap", answer) == []


def parsed(answer: bytes) -> Response:
    """Return the bytes of an answer as Flask's client would."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = [line.split(": ", 1) for line in lines]
    headers = Headers([(name, value) for name, value in fields])
    return Response(body, first.split(" ", 1)[1], headers)
