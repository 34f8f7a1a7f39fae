"""The Idempotency-Key header.

What a key is, which keys nobody can guess, what is kept of one.
"""

import pytest

from deeds.domain.hashing import ORDINARY_COST
from deeds.domain.raw_output import is_random_key, make_strong_secret
from tests.support.requests import post, refusal

UUID = "8e03978e-40d5-43e8-bc93-6894a57f9324"
MINT = {"outputs": ["+5.a"]}
REPLAYED = "Idempotency-Replayed"

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


def test_quoted_and_bare_headers_name_one_key(client):
    for headers in KEYS.values():
        answers = [post(client, "/v1/mint", MINT, header) for header in headers]
        answers.append(post(client, "/v1/mint", MINT, headers[0]))

        assert {answer.data for answer in answers} == {answers[0].data}
        first, *replayed = [each.headers.get(REPLAYED) for each in answers]
        assert (first, set(replayed)) == (None, {"true"})


def test_a_header_that_is_no_key_is_refused(client):
    for header in REFUSED:
        environ = {"HTTP_IDEMPOTENCY_KEY": header}
        answer = client.post("/v1/mint", json=MINT, environ_overrides=environ)
        assert refusal(answer) == (400, "invalid_idempotency_key", None), header


def test_a_key_that_may_be_made_from_a_secret_is_known():
    keys = RANDOM | GUESSABLE

    assert {name for name, key in keys.items() if is_random_key(key)} == set(RANDOM)


def test_the_hash_of_a_random_key_never_changes(client, ledger):
    post(client, "/v1/mint", MINT, UUID)

    [digest] = [row[2] for row in ledger.rows()["operations"]]
    assert (
        digest.hex()
        == "b09a62f8cefa4668763e77ecb830184c714d8b97acd7c8fd946d0bcfae46f920"
    )


def test_keys_are_compared_exactly(client, ledger):
    for key in ("abc", "ABC", "abc.", UUID, UUID.upper()):
        assert post(client, "/v1/mint", MINT, key).status_code == 200

    assert ledger.operations() == [("mint", 0, 1)] * 5


def test_a_guessable_key_costs_as_much_as_a_secret_by_default(
    client, ledger, hash_costs
):
    """The record of a key must not be a quicker way to a secret than the outputs."""
    post(client, "/v1/mint", MINT, "+5.deed_x.secret")

    assert hash_costs == [str(ORDINARY_COST), "m=8,t=1,p=1"]


@pytest.mark.parametrize("key", RANDOM.values(), ids=RANDOM)
def test_a_key_beyond_guessing_needs_no_slow_hash(client, hash_costs, key):
    first, again = (post(client, "/v1/mint", MINT, each) for each in (key, f' "{key}"'))

    assert first.data == again.data
    assert again.headers[REPLAYED] == "true"
    assert hash_costs == ["m=8,t=1,p=1"] * 2
