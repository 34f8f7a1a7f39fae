"""Strong secrets: only what a machine made has the form."""

import pytest

from deeds.base32 import ALPHABET
from deeds.strong_secret import is_strong_secret, make_strong_secret

# A fixed body and its checksum each. If one of these changes, wallets that exist become slow.
KNOWN = [
    "00000000000000000000000000nate3w",
    "zzzzzzzzzzzzzzzzzzzzzzzzzz2mtp08",
    "0123456789abcdefghjkmnpqrs64yps8",
    "7zk3f9qx2mw8v5t1rhc6yd4bnj6p7w8s",
    "deedsdeedsdeedsdeedsdeeds0h08btz",
]
BODY_LENGTH = 26
OTHER_FORMS = {
    "one character short": KNOWN[2][:-1],
    "one character long": KNOWN[2] + "0",
    "body alone": KNOWN[2][:BODY_LENGTH],
    "upper case": KNOWN[2].upper(),
    "one letter in upper case": KNOWN[2].replace("a", "A"),
    "O in place of zero": KNOWN[0].replace("0", "O"),
    "l in place of one": KNOWN[2].replace("1", "l"),
    "digits of another script": KNOWN[2].replace("1", "\u0661"),
    "trailing newline": KNOWN[2] + "\n",
    "newline in place of the last character": KNOWN[2][:-1] + "\n",
    "leading space": " " + KNOWN[2],
    "empty": "",
    "32 other characters": "correct horse battery staple, 32",
}


@pytest.mark.parametrize("secret", KNOWN)
def test_known_secrets_stay_strong(secret):
    assert is_strong_secret(secret)


@pytest.mark.parametrize("secret", KNOWN)
def test_no_known_secret_with_another_character_is_strong(secret):
    changed = {
        secret[:place] + other + secret[place + 1 :]
        for place in range(len(secret))
        for other in ALPHABET
        if other != secret[place]
    }

    assert len(changed) == len(secret) * (len(ALPHABET) - 1)
    assert [each for each in changed if is_strong_secret(each)] == []


@pytest.mark.parametrize("secret", KNOWN)
def test_no_known_secret_with_two_neighbours_swapped_is_strong(secret):
    swapped = {
        secret[:place] + secret[place + 1] + secret[place] + secret[place + 2 :]
        for place in range(len(secret) - 1)
    } - {secret}

    assert [each for each in swapped if is_strong_secret(each)] == []


@pytest.mark.parametrize("secret", OTHER_FORMS.values(), ids=OTHER_FORMS.keys())
def test_other_forms_are_not_strong(secret):
    assert not is_strong_secret(secret)


def test_made_secrets_are_strong_different_and_of_the_alphabet():
    made = [make_strong_secret() for _ in range(1000)]

    assert all(is_strong_secret(secret) for secret in made)
    assert len(set(made)) == len(made)
    assert {len(secret) for secret in made} == {32}
    assert set("".join(made)) == set(ALPHABET)
