"""The Idempotency-Key header: what a key is, and what hashing it costs."""

import pytest

from deeds.domain.errors import InvalidIdempotencyKeyError
from deeds.domain.idempotency import is_random_key, parse_idempotency_key, random_key_hash
from deeds.domain.strong_secret import make_strong_secret

UUID = "8e03978e-40d5-43e8-bc93-6894a57f9324"

KEYS = {
    "bare": ("abc", "abc"),
    "quoted": ('"abc"', "abc"),
    "spaces around": (" \t abc ", "abc"),
    "spaces around quotes": (' "abc" ', "abc"),
    "space within": ("a b", "a b"),
    "quote escaped": (r'"a\"b"', 'a"b'),
    "backslash escaped": (r'"a\\b"', r"a\b"),
    "backslash bare": (r"a\b", r"a\b"),
    "quote at the end alone": ('abc"', 'abc"'),
    "one character": ("1", "1"),
    "longest": ("k" * 255, "k" * 255),
    "longest quoted": (f'"{"k" * 255}"', "k" * 255),
    "uuid": (UUID, UUID),
    "signs": ("!~", "!~"),
    "letters at its ends": ("XabcX", "XabcX"),
}

REFUSED = {
    "empty": "",
    "spaces": "   ",
    "quotes alone": '""',
    "too long": "k" * 256,
    "too long in quotes": f'"{"k" * 256}"',
    "space first in quotes": '" abc"',
    "space last in quotes": '"abc "',
    "not ASCII": "schlüssel",
    "control character": "a\x07b",
    "DEL": "a\x7fb",
    "line end": "a\nb",
    "NUL": "a\0b",
    "tab within": "a\tb",
    "space of another kind": "\xa0abc",
    "line end at the end": "abc\n",
}

RANDOM = {
    "random uuid": UUID,
    "random uuid in upper case": UUID.upper(),
    "strong secret": make_strong_secret(),
}

GUESSABLE = {
    "word": "abc",
    "order number": "order-2024-000017",
    "uuid of a name": "2ed6657d-e927-568b-95e1-2665a8aea6a2",
    "uuid of a time": "c232ab00-9414-11ec-b3c8-9f6bdeced846",
    "uuid of a time, version 7": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
    "uuid of another variant": "8e03978e-40d5-43e8-1c93-6894a57f9324",
    "nil uuid": "00000000-0000-0000-0000-000000000000",
    "uuid without hyphens": UUID.replace("-", ""),
    "uuid with braces": f"{{{UUID}}}",
    "uuid and more": f"{UUID}-1",
    "strong secret broken": make_strong_secret()[:-1] + "!",
    "36 of one digit": "4" * 36,
}


@pytest.mark.parametrize(("header", "key"), KEYS.values(), ids=KEYS.keys())
def test_quoted_and_bare_headers_name_a_key(header, key):
    assert parse_idempotency_key(header) == key


@pytest.mark.parametrize("header", REFUSED.values(), ids=REFUSED.keys())
def test_other_headers_are_refused(header):
    with pytest.raises(InvalidIdempotencyKeyError):
        parse_idempotency_key(header)


@pytest.mark.parametrize("key", RANDOM.values(), ids=RANDOM.keys())
def test_a_key_that_cannot_be_guessed_is_known(key):
    assert is_random_key(key)


@pytest.mark.parametrize("key", GUESSABLE.values(), ids=GUESSABLE.keys())
def test_a_key_that_may_be_made_from_a_secret_is_known(key):
    assert not is_random_key(key)


def test_the_hash_of_a_random_key_never_changes():
    expected = "b09a62f8cefa4668763e77ecb830184c714d8b97acd7c8fd946d0bcfae46f920"
    assert random_key_hash(UUID).hex() == expected
