"""Every way in which a request can fail, for the tests of what errors look like."""

from dataclasses import dataclass, replace
from typing import Any

from argon2.exceptions import HashingError
from sqlalchemy.exc import OperationalError

from deeds.domain.raw_output import make_strong_secret
from deeds.settings import parse_rate_limits
from storage.engine import make_engine, parse_database_url
from storage.tables import offers, operations
from storage.transactions import WRITES
from tests.support.hooks import hooked
from tests.support.requests import mint, post, swap
from tests.support.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Ground:
    """A service with an item that has 5 units live under `a` and 3 spent under `b`."""

    client: Any
    item_id: str
    settings: Any
    open_app: Any
    monkeypatch: Any

    def post(self, path, body, key=None):
        return post(self.client, path, body, key)

    def mint(self, *outputs, key=None):
        return self.post("/v1/mint", {"outputs": list(outputs)}, key)

    def send(self, data, **environ):
        environ = {"CONTENT_TYPE": "application/json"} | environ
        return self.client.post("/v1/mint", data=data, environ_overrides=environ)

    def swap(self, inputs, outputs):
        spent = [each.format(self.item_id) for each in inputs]
        created = [each.format(self.item_id) for each in outputs]
        return swap(self.client, spent, created)

    def offer(self, inputs, outputs):
        """Offer the half of a swap; `$` stands for a strong secret."""
        raws = [each.format(self.item_id) for each in [*inputs, *outputs]]
        raws = [each.replace("$", make_strong_secret()) for each in raws]
        body = {"inputs": raws[: len(inputs)], "outputs": raws[len(inputs) :]}
        return self.post("/v1/offers", body)


def complete_too_late(ground):
    offer_id = ground.offer([], ["+5.{}.$"]).get_json()["offerId"]
    engine = make_engine(parse_database_url(ground.settings.database_url))
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(offers.update().values(expires_at=0))
    engine.dispose()
    body = {"inputs": [f"+5.{ground.item_id}.a"], "outputs": []}
    return ground.post(f"/v1/offers/{offer_id}/complete", body)


def reuse_a_key(ground):
    ground.mint("+1.a", key="used")
    return ground.mint("+2.a", key="used")


def hash_without_memory(ground):
    def refuse(*_args, **_kwargs):
        raise HashingError("Memory allocation error")

    ground.monkeypatch.setattr("deeds.domain.hashing.hash_secret_raw", refuse)
    return ground.mint("+1.a")


def lose_the_database(ground):
    def break_off(*_args):
        raise OperationalError("SELECT", {}, Exception("server closed the connection"))

    with hooked("before_cursor_execute", break_off):
        return ground.mint("+1.a")


def lose_the_database_while_committing(ground):
    def break_off(connection):
        connection.connection.driver_connection.execute("COMMIT")
        raise OperationalError("COMMIT", {}, Exception("server closed the connection"))

    with hooked("commit", break_off):
        return ground.mint("+1.a")


def lose_the_last_operation(ground):
    engine = make_engine(parse_database_url(ground.settings.database_url))
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        # As where another operation got its id, after an older copy was put there.
        times = operations.update().values(created_at_ms=operations.c.created_at_ms + 1)
        connection.execute(times)
    engine.dispose()
    ground.mint("+1.a")
    # The service looks for its last operations once a second after writes.
    wait_until(lambda: ground.client.get("/readyz").status_code == 503)
    return ground.mint("+1.a")


def lack_a_pepper(ground):
    peppered = replace(ground.settings, pepper=b"0123456789abcdef0123456789abcdef")
    item_id = mint(ground.open_app(peppered).test_client(), "+5.a")
    return ground.post("/v1/check", {"outputs": [f"+5.{item_id}.a"]})


def exceed(limits, path, body):
    def ask_twice(ground):
        limited = replace(ground.settings, rate_limits=parse_rate_limits(limits))
        client = ground.open_app(limited).test_client()
        post(client, path, body)
        return post(client, path, body)

    return ask_twice


def meet_a_defect(ground):
    def fail(*_args):
        raise ZeroDivisionError("<b>secret</b>")

    ground.monkeypatch.setattr("storage.repository.Repository.read_item", fail)
    return ground.client.get(f"/v1/item/{ground.item_id}")


def refuse(code):
    """What the server could not parse, it gives to the application under a code."""
    return lambda g: g.client.get("*", environ_overrides={"deeds.refusal": code})


GUESS = {"outputs": ["+1.deed_0.<b>"]}

# Code, place of the element at fault, and how to come by it.
WAYS = {
    "body broken off": (
        "body_unreadable",
        None,
        lambda g: g.send(b"{", CONTENT_LENGTH="9"),
    ),
    "no media type": (
        "wrong_media_type",
        None,
        lambda g: g.send(b"{}", CONTENT_TYPE=""),
    ),
    "no body": ("invalid_json", None, lambda g: g.send(b"")),
    "array": ("invalid_request", None, lambda g: g.post("/v1/mint", [])),
    "bad element": ("invalid_request", 1, lambda g: g.mint("+1.a", "<b>")),
    "empty key": ("invalid_idempotency_key", None, lambda g: g.mint("+1.a", key="")),
    "total": ("total_too_large", None, lambda g: g.mint("+9007199254740991.a", "+1.b")),
    "units from nowhere": (
        "unbalanced",
        None,
        lambda g: g.swap(["+5.{}.a"], ["+6.{}.d"]),
    ),
    "input twice": (
        "duplicate_input",
        1,
        lambda g: g.swap(["+5.{}.a", "+5.{}.a"], ["+10.{}.d"]),
    ),
    "secret twice": ("duplicate_secret", 1, lambda g: g.mint("+1.a", "+1.a")),
    "item of nobody": (
        "unknown_item",
        0,
        lambda g: g.swap(["+5.deed_<b>.a"], ["+5.deed_<b>.d"]),
    ),
    "wrong secret": ("unknown_input", 0, lambda g: g.swap(["+5.{}.<b>"], ["+5.{}.d"])),
    "spent": ("spent_input", 1, lambda g: g.swap(["+5.{}.a", "+3.{}.b"], ["+8.{}.d"])),
    "old secret": ("used_secret", 0, lambda g: g.swap(["+5.{}.a"], ["+5.{}.b"])),
    "nothing wanted": (
        "not_an_offer",
        None,
        lambda g: g.offer(["+5.{}.a"], ["+5.{}.$"]),
    ),
    "weak": ("weak_secret", 0, lambda g: g.offer([], ["+5.{}.<b>"])),
    "expired": ("offer_not_open", None, complete_too_late),
    "no offer": (
        "unknown_offer",
        None,
        lambda g: g.post(
            "/v1/offers/<b>/complete", {"inputs": ["+1.deed_<b>.a"], "outputs": []}
        ),
    ),
    "no item": ("item_not_found", None, lambda g: g.client.get("/v1/item/<b>")),
    "no path": ("not_found", None, lambda g: g.client.get("/<b>")),
    "wrong method": ("method_not_allowed", None, lambda g: g.client.delete("/v1/mint")),
    "2 MiB": ("body_too_large", None, lambda g: g.send(b" " * 2**21)),
    "key of another request": ("idempotency_key_reused", None, reuse_a_key),
    "guesses": (
        "too_many_failures",
        None,
        exceed("failures=1/day", "/v1/check", GUESS),
    ),
    "haste": ("too_many_requests", None, exceed("check=1/day", "/v1/check", GUESS)),
    "no memory": ("overloaded", None, hash_without_memory),
    "no database": ("ledger_unavailable", None, lose_the_database),
    "commit broken off": ("ledger_in_doubt", None, lose_the_database_while_committing),
    "older copy": ("ledger_rolled_back", None, lose_the_last_operation),
    "no pepper": ("scheme_unavailable", None, lack_a_pepper),
    "defect": ("internal", None, meet_a_defect),
    "no HTTP": ("bad_request", None, refuse("bad_request")),
    "long head": ("headers_too_large", None, refuse("headers_too_large")),
}
