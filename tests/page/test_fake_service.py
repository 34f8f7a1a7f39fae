"""The fake service of the wallet's tests answers as the service does.

It writes each request that reaches it into a file, with the time and its answer. Then
the service is asked the same at the same time.
"""

import hashlib
import json
from collections import defaultdict
from contextlib import closing
from datetime import datetime
from functools import cache

import pytest

from app import create_app
from deeds.raw_output import make_strong_secret
from deeds.settings import read_settings
from tests.page.test_javascript import IMPORT_ALL, JS, WALKS, run_node, run_tests
from tests.support.api import Api, environ_of

PATHS = {
    "mint": "/v1/mint",
    "swap": "/v1/swap",
    "check": "/v1/check",
    "find": "/v1/find",
    "item": "/v1/item/{}",
    "makeOffer": "/v1/offers",
    "offer": "/v1/offers/{}",
    "complete": "/v1/offers/{}/complete",
    "findOffered": "/v1/offers/find",
}
# What api.js returns of an answer, if not all of it.
FIELDS = {"check": "states", "find": "outputs", "findOffered": "offered"}
# All that a verb is refused with, but for weak secrets.
OF_SWAPS = """
    invalid_request duplicate_input duplicate_secret idempotency_key_reused
    unknown_item unknown_input spent_input used_secret
"""
CODES = {
    "mint": "invalid_request duplicate_secret total_too_large idempotency_key_reused",
    "swap": f"{OF_SWAPS} unbalanced",
    "makeOffer": f"{OF_SWAPS} not_an_offer total_too_large",
    "complete": f"{OF_SWAPS} unknown_offer offer_not_open unbalanced",
    "offer": "unknown_offer",
    "check": "",
    "find": "invalid_request unknown_item",
    "findOffered": "invalid_request unknown_item",
    "item": "item_not_found",
}


@cache
def strong(secret):
    """Return the strong secret that stands for one of the tests."""
    digest = hashlib.sha256(secret.encode()).digest()
    return make_strong_secret(lambda count: digest[:count])


def with_strong(value, name=""):
    """Return the JSON of a request or an answer with strong secrets alone."""
    if isinstance(value, dict):
        return {each: with_strong(value[each], each) for each in value}
    if isinstance(value, list):
        return [with_strong(each, name) for each in value]
    if name in ("secret", "secrets"):
        return strong(value)
    if isinstance(value, str) and value.startswith("+"):
        amount, item_id, secret = value.split(".", 2)
        return f"{amount}.{item_id}.{strong(secret)}"
    return value


def asked(verb, given):
    """Return the path of a request, its body and its key, as far as it has them."""
    path = PATHS[verb]
    if "{}" in path:
        item_or_offer_id, *given = given
        path = path.format(item_or_offer_id)
    if verb == "check":
        given = [{"outputs": given[0]}]
    elif verb in ("find", "findOffered"):
        given = [{"itemId": given[0], "secrets": given[1]}]
    return path, *with_strong(given[:1]), *given[1:]


def returned(verb, answer):
    """Return what api.js returns or throws."""
    told = answer.json()
    if answer.status_code != 200:
        return {name: told[name] for name in ("code", "isFinal", "status")}
    if "expiresAt" in told:
        expires_at = datetime.fromisoformat(told["expiresAt"])
        told["expiresAt"] = expires_at.timestamp() * 1000
    return told[FIELDS[verb]] if verb in FIELDS else told


def compare(database_url, path):
    """Fail where the service answers otherwise than the fake one has.

    Return the codes that each verb was answered with, None for success.
    """
    now_ms, next_id, codes = 0, "", defaultdict(set)
    app = create_app(
        read_settings(environ_of(database_url, DEEDS_RATE_LIMITS="failures=off")),
        clock=lambda: now_ms,
        token_bytes=lambda count: bytes(map(int, next_id[-count:])),
    )
    api = Api.of_app(app)
    with closing(app.extensions["deeds"]), path.open() as lines:
        for now_ms, verb, given, told in map(json.loads, lines):
            if (verb, given) == ("check", [[]]):
                # api.js asks nothing.
                continue
            ids = told if isinstance(told, dict) else {}
            codes[verb].add(ids.get("code"))
            next_id = ids.get("offerId") or ids.get("itemId") or "0" * 26
            if ids.pop("name", None) == "ProblemError":
                del ids["retryAfterS"]
            where, *rest = asked(verb, given)
            answer = api.post(where, *rest) if rest else api.get(where)
            assert returned(verb, answer) == with_strong(told), (now_ms, verb, given)
    return codes


@pytest.fixture
def requests(tmp_path, monkeypatch):
    """The file into which fake services write requests and answers."""
    path = tmp_path / "requests"
    monkeypatch.setenv("REQUESTS_FILE", str(path))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", WALKS)
def test_walks_pass_and_meet_the_same_answers(name, database_url, requests):
    run_tests([JS / "wallet" / name])

    compare(database_url, requests)


@pytest.mark.slow
def test_any_request_meets_the_same_answer(database_url, requests):
    run_node("--eval", IMPORT_ALL, str(JS / "wallet/any_requests.js"))

    codes = compare(database_url, requests)

    assert codes == {verb: {None, *text.split()} for verb, text in CODES.items()}
