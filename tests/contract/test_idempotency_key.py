"""The Idempotency-Key header.

What a key is, which keys nobody can guess, what is kept of one.
"""

from dataclasses import replace

import pytest
from sqlalchemy import select

from deeds.domain.errors import InvalidIdempotencyKeyError
from deeds.domain.hashing import argon2id_digest
from deeds.domain.idempotency import hash_key, is_random_key, parse_idempotency_key
from deeds.domain.model import Argon2Cost, SecretClass
from deeds.domain.raw_output import make_strong_secret
from storage.tables import hash_schemes, operations
from tests.support.requests import post

UUID = "8e03978e-40d5-43e8-bc93-6894a57f9324"
MINT = {"outputs": ["+5.a"]}

# The headers that name each key.
KEYS = {
    "abc": ["abc", '"abc"', " \t abc ", ' "abc" '],
    "a b": ["a b"],
    'a"b': [r'"a\"b"'],
    r"a\b": [r'"a\\b"', r"a\b"],
    'abc"': ['abc"'],
    "!~": ["!~"],
    "XabcX": ["XabcX"],
    "k" * 255: ["k" * 255, f'"{"k" * 255}"'],
}

REFUSED = [
    "",
    "   ",
    '""',
    "k" * 256,
    f'"{"k" * 256}"',
    '" abc"',
    '"abc "',
    "schlüssel",
]
REFUSED += ["a\x07b", "a\x7fb", "a\nb", "a\0b", "a\tb", "\xa0abc", "abc\n"]

GUESSABLE = {
    "word": "abc",
    "uuid of a name": "2ed6657d-e927-568b-95e1-2665a8aea6a2",
    "uuid of a time": "c232ab00-9414-11ec-b3c8-9f6bdeced846",
    "uuid of a time, version 7": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
    "uuid of another variant": "8e03978e-40d5-43e8-1c93-6894a57f9324",
    "nil uuid": "00000000-0000-0000-0000-000000000000",
    "uuid without hyphens": UUID.replace("-", ""),
    "uuid with braces": f"{{{UUID}}}",
    "uuid and more": f"{UUID}-1",
    "strong secret broken": make_strong_secret()[:-1] + "!",
}
RANDOM = {
    "uuid": UUID,
    "upper case": UUID.upper(),
    "strong secret": make_strong_secret(),
}


def test_quoted_and_bare_headers_name_a_key_and_others_are_refused():
    for key, headers in KEYS.items():
        assert [parse_idempotency_key(header) for header in headers] == [key] * len(
            headers
        )
    for header in REFUSED:
        with pytest.raises(InvalidIdempotencyKeyError):
            parse_idempotency_key(header)


def test_a_key_that_may_be_made_from_a_secret_is_known():
    keys = RANDOM | GUESSABLE

    assert {name for name, key in keys.items() if is_random_key(key)} == set(RANDOM)


def test_the_hash_of_a_random_key_never_changes():
    [digest] = hash_key(UUID, None, None)

    assert (
        digest.hex()
        == "b09a62f8cefa4668763e77ecb830184c714d8b97acd7c8fd946d0bcfae46f920"
    )


def test_keys_are_compared_exactly(client, ledger):
    for key in ("abc", "ABC", "abc.", UUID, UUID.upper()):
        assert post(client, "/v1/mint", MINT, key).status_code == 200

    assert ledger.operations() == [("mint", 0, 1)] * 5


@pytest.fixture
def costly(settings):
    """Settings that make the hash of an ordinary secret, or key, differ from a strong
    one's.
    """
    return replace(settings, ordinary_cost=Argon2Cost(16, 2, 1))


def test_a_key_that_could_be_guessed_is_hashed_like_a_secret(
    costly, open_app, ledger, hash_costs
):
    """The record of a key must not be a quicker way to a secret than the outputs are."""
    key = "+5.deed_x.secret"

    post(open_app(costly).test_client(), "/v1/mint", MINT, key)

    assert hash_costs == ["m=16,t=2,p=1"] * 2
    is_ordinary = hash_schemes.c.secret_class == SecretClass.ORDINARY
    with ledger.engine.connect() as connection:
        stored = connection.execute(
            select(operations.c.idempotency_key_hash)
        ).scalar_one()
        salt = connection.execute(
            select(hash_schemes.c.key_salt).where(is_ordinary)
        ).scalar_one()
    assert stored == argon2id_digest(key, salt, costly.ordinary_cost, None)


@pytest.mark.parametrize("key", RANDOM.values(), ids=RANDOM)
def test_a_key_beyond_guessing_needs_no_slow_hash(costly, open_app, hash_costs, key):
    client = open_app(costly).test_client()

    first, again = (post(client, "/v1/mint", MINT, each) for each in (key, f' "{key}"'))

    assert (first.data, again.headers.get("Idempotency-Replayed")) == (
        again.data,
        "true",
    )
    assert hash_costs == ["m=16,t=2,p=1"] * 2
