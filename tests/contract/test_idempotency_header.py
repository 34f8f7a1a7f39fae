"""What an Idempotency-Key may be, and what is kept of it (contract part 2, "retries")."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from deeds.domain.hashing import argon2id_digest
from deeds.domain.model import Argon2Cost, SecretClass
from deeds.domain.strong_secret import make_strong_secret
from storage.tables import hash_schemes, operations
from tests.support.requests import mint, post, refusal, swap

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
MINT = {"outputs": ["+5.a"]}

ORDINARY_KEY_SALT = select(hash_schemes.c.key_salt).where(
    hash_schemes.c.secret_class == SecretClass.ORDINARY
)


def replayed(answer):
    return answer.headers.get("Idempotency-Replayed")


@pytest.mark.parametrize(("key", "same"), [("abc", '"abc"'), (KEY, f'  "{KEY}"\t')])
def test_a_key_is_one_key_quoted_or_bare(client, key, same):
    first = post(client, "/v1/mint", MINT, key)

    again = post(client, "/v1/mint", MINT, same)

    assert (replayed(first), replayed(again)) == (None, "true")
    assert again.data == first.data


@pytest.mark.parametrize(("key", "other"), [("abc", "ABC"), ("abc", "abc."), (KEY, KEY.upper())])
def test_keys_are_compared_exactly(client, key, other):
    first = post(client, "/v1/mint", MINT, key)

    second = post(client, "/v1/mint", MINT, other)

    assert (replayed(second), second.status_code) == (None, 200)
    assert second.get_json()["itemId"] != first.get_json()["itemId"]


@pytest.mark.parametrize("key", ["", '" "', "k" * 256, "é", "\x00", "\xff"])
def test_what_is_no_key_is_refused(client, ledger, key):
    item_id = mint(client, "+5.a")
    before = ledger.rows()

    answers = [
        post(client, "/v1/mint", MINT, key),
        swap(client, [f"+5.{item_id}.a"], [f"+5.{item_id}.b"], key),
    ]

    assert [refusal(each) for each in answers] == [(400, "invalid_idempotency_key", None)] * 2
    assert ledger.rows() == before


@pytest.fixture
def costly(settings):
    """Settings that make the hash of an ordinary secret, or key, differ from a strong one's."""
    return replace(settings, ordinary_cost=Argon2Cost(16, 2, 1))


@pytest.mark.parametrize("key", ["order 17", "+5.deed_x.secret", KEY.replace("-", "")])
def test_a_key_that_could_be_guessed_is_hashed_like_a_secret(
    costly, open_app, ledger, hash_costs, key
):
    """The record of a key must not be a quicker way to a secret than the outputs are."""
    client = open_app(costly).test_client()

    post(client, "/v1/mint", MINT, key)

    assert hash_costs == ["m=16,t=2,p=1"] * 2
    with ledger.engine.connect() as connection:
        stored = connection.execute(select(operations.c.idempotency_key_hash)).scalar_one()
        salt = connection.execute(ORDINARY_KEY_SALT).scalar_one()
    assert stored == argon2id_digest(key, salt, costly.ordinary_cost, None)


@pytest.mark.parametrize("key", [KEY, make_strong_secret()], ids=["random UUID", "strong secret"])
def test_a_key_beyond_guessing_needs_no_slow_hash(costly, open_app, hash_costs, key):
    client = open_app(costly).test_client()

    first, again = post(client, "/v1/mint", MINT, key), post(client, "/v1/mint", MINT, key)

    assert (first.data, replayed(again)) == (again.data, "true")
    assert hash_costs == ["m=16,t=2,p=1"] * 2
