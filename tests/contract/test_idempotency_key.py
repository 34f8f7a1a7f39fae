"""The Idempotency-Key header.

What a key is, which keys nobody can guess, what is kept of one.
"""

import json
import re

import pytest

from tests.support.api import good
from tests.support.databases import on_shared_sqlite, on_sqlite
from tests.support.serving import REPOSITORY

UUID = "8e03978e-40d5-43e8-bc93-6894a57f9324"
STRONG = "cwyr410zm24qrywh2zbe8aev1xd1c5pm"
MINT = {"outputs": ["+5.a"]}
REPLAYED = "Idempotency-Replayed"

# Headers, each with another one that names the same key.
SAME_KEYS = [
    ("abc", "abc"),
    ("abc", '"abc"'),
    ("abc", " \t abc "),
    ("abc", ' "abc" '),
    ("a b", '"a b"'),
    ('a"b', r'"a\"b"'),
    (r"a\b", r'"a\\b"'),
    ('abc"', 'abc"'),
    ("!~", '"!~"'),
    ("k" * 255, f'"{"k" * 255}"'),
]

NO_KEYS = [
    "",
    "   ",
    '""',
    "k" * 256,
    f'"{"k" * 256}"',
    '" abc"',
    '"abc "',
    "schlüssel",
]
NO_KEYS += ["a\x07b", "a\x7fb", "a\nb", "a\0b", "a\tb", "\xa0abc", "abc\n"]

RANDOM = [UUID, UUID.upper(), STRONG]
# A word; UUIDs of a name, of a time, of another variant, in other spellings.
GUESSABLE = ["abc", "2ed6657d-e927-568b-95e1-2665a8aea6a2"]
GUESSABLE += ["c232ab00-9414-11ec-b3c8-9f6bdeced846"]
GUESSABLE += ["017f22e2-79b0-7cc3-98c4-dc0c0c07398f"]
GUESSABLE += ["8e03978e-40d5-43e8-1c93-6894a57f9324"]
GUESSABLE += ["00000000-0000-0000-0000-000000000000"]
GUESSABLE += [UUID.replace("-", ""), f"{{{UUID}}}", f"{UUID}-1", STRONG[:-1] + "!"]


@on_sqlite
@pytest.mark.parametrize(("header", "other"), SAME_KEYS)
def test_quoted_and_bare_headers_name_one_key(api, header, other):
    first = api.post("/v1/mint", MINT, header)

    again = api.post("/v1/mint", MINT, other)

    assert good(again) == good(first)
    assert REPLAYED not in first.headers
    assert again.headers[REPLAYED] == "true"


@on_shared_sqlite
@pytest.mark.parametrize("header", NO_KEYS)
def test_a_header_that_is_no_key_is_refused(shared_app, header):
    environ = {"HTTP_IDEMPOTENCY_KEY": header}

    answer = shared_app.test_client().post(
        "/v1/mint", json=MINT, environ_overrides=environ
    )

    assert answer.status_code == 400
    assert answer.json["code"] == "invalid_idempotency_key"


# Commas and quotes, which the document and the service might take differently.
UNUSUAL = ["a,b", '"a,b"', '"a\\",b"', '"a,b', 'a,b"', '"a", "b"', '"a"b"', '"', '"""']
UNUSUAL += ['","', '",', ",", '"\\"', '"\\\\"', "'a'", '"a""', '" "', '"a" ']


@pytest.mark.parametrize("header", [*sum(SAME_KEYS, ()), *NO_KEYS, *UNUSUAL])
def test_the_document_names_the_keys_that_are_taken(shared_app, header):
    document = json.loads((REPOSITORY / "parts/openapi/openapi.json").read_text())
    schema = document["components"]["parameters"]["IdempotencyKey"]["schema"]
    # Blanks around the header are no part of it.
    value = header.strip(" \t")
    is_named = re.fullmatch(schema["pattern"], value) is not None

    answer = shared_app.test_client().post(
        "/v1/mint", json=MINT, environ_overrides={"HTTP_IDEMPOTENCY_KEY": header}
    )

    is_taken = answer.json.get("code") != "invalid_idempotency_key"
    assert is_taken == is_named


def test_a_key_that_may_be_made_from_a_secret_counts_as_a_guess(limited):
    """A client over its limit is served what holds none."""
    api = limited("failures=1/day")
    api.check("+1.deed_0.wrong")

    statuses = {
        key: api.send_mint(f"+5.{STRONG}", key=key).status_code
        for key in (*RANDOM, *GUESSABLE)
    }

    assert statuses == dict.fromkeys(RANDOM, 200) | dict.fromkeys(GUESSABLE, 429)


def test_the_hash_of_a_random_key_never_changes(api, ledger):
    api.mint("+5.a", key=UUID)

    [(_id, _kind, key_hash, *_)] = ledger.rows()["operations"]
    assert key_hash.hex() == (
        "b09a62f8cefa4668763e77ecb830184c714d8b97acd7c8fd946d0bcfae46f920"
    )


def test_keys_are_compared_exactly(api, ledger):
    for key in ("abc", "ABC", "abc.", UUID, UUID.upper()):
        api.mint("+5.a", key=key)

    assert ledger.operations() == [("mint", 0, 1)] * 5
