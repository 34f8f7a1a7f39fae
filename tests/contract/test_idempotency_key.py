"""The Idempotency-Key header: what a key is, and which keys nobody can guess."""

import pytest

from deeds.domain.errors import InvalidIdempotencyKeyError
from deeds.domain.idempotency import Replayer, is_random_key, parse_idempotency_key
from deeds.domain.strong_secret import make_strong_secret

UUID = "8e03978e-40d5-43e8-bc93-6894a57f9324"

KEYS = [
    ("abc", "abc"),
    ('"abc"', "abc"),
    (" \t abc ", "abc"),
    (' "abc" ', "abc"),
    ("a b", "a b"),
    (r'"a\"b"', 'a"b'),
    (r'"a\\b"', r"a\b"),
    (r"a\b", r"a\b"),
    ('abc"', 'abc"'),
    ("1", "1"),
    ("!~", "!~"),
    ("XabcX", "XabcX"),
    ("k" * 255, "k" * 255),
    (f'"{"k" * 255}"', "k" * 255),
]

REFUSED = ["", "   ", '""', "k" * 256, f'"{"k" * 256}"', '" abc"', '"abc "', "schlüssel"]
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


@pytest.mark.parametrize(("header", "key"), KEYS)
def test_quoted_and_bare_headers_name_a_key(header, key):
    assert parse_idempotency_key(header) == key


@pytest.mark.parametrize("header", REFUSED)
def test_other_headers_are_refused(header):
    with pytest.raises(InvalidIdempotencyKeyError):
        parse_idempotency_key(header)


@pytest.mark.parametrize(
    "key", [UUID, UUID.upper(), make_strong_secret()], ids=["uuid", "upper case", "strong secret"]
)
def test_a_key_that_cannot_be_guessed_is_known(key):
    assert is_random_key(key)


@pytest.mark.parametrize("key", GUESSABLE.values(), ids=GUESSABLE)
def test_a_key_that_may_be_made_from_a_secret_is_known(key):
    assert not is_random_key(key)


def test_the_hash_of_a_random_key_never_changes():
    [digest] = Replayer(None, None, None, None).hash_key(UUID)

    assert digest.hex() == "b09a62f8cefa4668763e77ecb830184c714d8b97acd7c8fd946d0bcfae46f920"
