"""A way to provoke each problem, for tests of the form of errors."""

from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import Mock

from tests.support.api import Api
from tests.support.argon2_calls import refuse_memory
from tests.support.hooks import break_off, hooked
from tests.support.ledger_view import LedgerView
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until

STRONG = make_strong_secret()

MINT = '{"outputs":["+1.a"]}'
GUESS = "+1.deed_0.<b>"


@dataclass(frozen=True, slots=True)
class Ground:
    """A service and an item: 5 unspent units under `a`, 3 spent ones under `b`."""

    app: Any
    api: Api
    item_id: str
    database_url: str
    open_api: Any
    monkeypatch: Any


def ask(method, path, ground):
    return ground.api.http.request(method, path)


def post(path, text, ground, headers=None):
    """Send a text as JSON; ITEM and STRONG stand for an id and a strong secret."""
    text = text.replace("ITEM", ground.item_id).replace("STRONG", STRONG)
    headers = {"Content-Type": "application/json"} | (headers or {})
    return ground.api.http.post(path, content=text, headers=headers)


def complete_too_late(ground):
    offer_id = ground.api.offer_id([], f"+5.{ground.item_id}.{STRONG}")
    LedgerView(ground.database_url).expire_offers()
    return ground.api.complete(offer_id, f"+5.{ground.item_id}.a", [])


def reuse_a_key(ground):
    ground.api.mint("+1.a", key="used")
    return ground.api.send_mint("+2.a", key="used")


def hash_without_memory(ground):
    refuse_memory(ground.monkeypatch)
    return post("/v1/mint", MINT, ground)


def no_database():
    """Return a context in which the database cannot be reached."""
    return hooked("before statement", break_off)


def lose_the_database(ground):
    with no_database():
        return ground.api.get(f"/v1/item/{ground.item_id}")


def lose_the_database_while_committing(ground):
    with hooked("after commit", break_off):
        return post("/v1/mint", MINT, ground)


def wait_for_verdict(api):
    """Wait until the service reports the ledger as rolled back.

    At first a server that lacks operations only counts as unavailable, because it may
    be the wrong one.
    """
    code = "ledger_rolled_back"
    wait_until(lambda: api.get("/readyz").json().get("code") == code)


def lose_the_last_operation(ground):
    api = ground.open_api()
    api.mint("+1.a")
    # As if an older copy was restored and another operation got this id.
    later = "UPDATE operations SET created_at_ms = created_at_ms + 1"
    LedgerView(ground.database_url).execute(later)
    api.send_mint("+1.a")
    wait_for_verdict(api)
    return api.send_mint("+1.a")


def lack_a_pepper(ground):
    peppered = ground.open_api(DEEDS_PEPPER="0123456789abcdef" * 2)
    item_id = peppered.mint("+5.a")
    return ground.api.send_check(f"+5.{item_id}.a")


def mint_with(authorization, ground):
    """Mint at a service that requires a token."""
    api = ground.open_api(DEEDS_MINT_TOKEN="0123456789abcdef")
    api.http.headers.update(authorization)
    return api.send_mint("+1.<b>")


def exceed(limits, ground):
    api = ground.open_api(DEEDS_RATE_LIMITS=limits)
    api.send_check(GUESS)
    return api.send_check(GUESS)


def meet_a_defect(ground):
    fail = Mock(side_effect=ZeroDivisionError("<b>secret</b>"))
    with hooked("before statement", fail):
        return ground.api.get(f"/v1/item/{ground.item_id}")


def refuse_as(code, ground):
    """Call the app as the server does after a request that it could not parse."""

    def refuse(environ, start_response):
        return ground.app(environ | {"deeds.refusal": code}, start_response)

    return Api.of_app(refuse).get("/*")


# Requests that are refused, by the code of the problem.
SENT = {
    "invalid_json": ("/v1/mint", ""),
    "invalid_request": ("/v1/mint", '{"outputs":["+1.a","<b>"]}'),
    "total_too_large": ("/v1/mint", '{"outputs":["+9007199254740991.a","+1.b"]}'),
    "duplicate_secret": ("/v1/mint", '{"outputs":["+1.a","+1.a"]}'),
    "unbalanced": ("/v1/swap", '{"inputs":["+5.ITEM.a"],"outputs":["+6.ITEM.d"]}'),
    "duplicate_input": (
        "/v1/swap",
        '{"inputs":["+5.ITEM.a","+5.ITEM.a"],"outputs":["+10.ITEM.d"]}',
    ),
    "unknown_item": (
        "/v1/swap",
        '{"inputs":["+5.deed_<b>.a"],"outputs":["+5.deed_<b>.d"]}',
    ),
    "unknown_input": ("/v1/swap", '{"inputs":["+5.ITEM.<b>"],"outputs":["+5.ITEM.d"]}'),
    "spent_input": (
        "/v1/swap",
        '{"inputs":["+5.ITEM.a","+3.ITEM.b"],"outputs":["+8.ITEM.d"]}',
    ),
    "used_secret": ("/v1/swap", '{"inputs":["+5.ITEM.a"],"outputs":["+5.ITEM.b"]}'),
    "not_an_offer": (
        "/v1/offers",
        '{"inputs":["+5.ITEM.a"],"outputs":["+5.ITEM.STRONG"]}',
    ),
    "weak_secret": ("/v1/offers", '{"inputs":[],"outputs":["+5.ITEM.<b>"]}'),
    "unknown_offer": (
        "/v1/offers/<b>/complete",
        '{"inputs":["+1.deed_<b>.a"],"outputs":[]}',
    ),
    "body_too_large": ("/v1/mint", " " * 2**21),
}

# How to provoke each problem, by its code.
WAYS = {code: partial(post, *sent) for code, sent in SENT.items()} | {
    "body_unreadable": partial(post, "/v1/mint", "{", headers={"Content-Length": "9"}),
    "wrong_media_type": partial(post, "/v1/mint", "{}", headers={"Content-Type": ""}),
    "invalid_idempotency_key": partial(
        post, "/v1/mint", MINT, headers={"Idempotency-Key": ""}
    ),
    "mint_token_required": partial(mint_with, {}),
    "mint_token_wrong": partial(mint_with, {"Authorization": "Bearer <b>"}),
    "offer_not_open": complete_too_late,
    "item_not_found": partial(ask, "GET", "/v1/item/<b>"),
    "not_found": partial(ask, "GET", "/<b>"),
    "method_not_allowed": partial(ask, "DELETE", "/v1/mint"),
    "idempotency_key_reused": reuse_a_key,
    "too_many_failures": partial(exceed, "failures=1/day"),
    "too_many_requests": partial(exceed, "check=1/day"),
    "overloaded": hash_without_memory,
    "ledger_unavailable": lose_the_database,
    "ledger_in_doubt": lose_the_database_while_committing,
    "ledger_rolled_back": lose_the_last_operation,
    "scheme_unavailable": lack_a_pepper,
    "internal": meet_a_defect,
    "bad_request": partial(refuse_as, "bad_request"),
    "headers_too_large": partial(refuse_as, "headers_too_large"),
}

# The element at fault, for the problems that name one.
PLACES = {
    "invalid_request": "outputs[1]",
    "duplicate_secret": "outputs[1]",
    "duplicate_input": "inputs[1]",
    "unknown_item": "inputs[0]",
    "unknown_input": "inputs[0]",
    "spent_input": "inputs[1]",
    "used_secret": "outputs[0]",
    "weak_secret": "outputs[0]",
}
