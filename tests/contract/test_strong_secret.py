"""Strong secrets: only what a machine made has the form."""

import json

import pytest

from deeds.domain.raw_output import BASE32_ALPHABET, is_strong_secret, make_strong_secret
from tests.support.sources import read_text

# The page's own code is held to the same file. If one of its strong secrets ceases to be strong,
# wallets that exist become slow: each is a fixed body and its checksum.
VECTORS = json.loads(read_text("tests/support/strong_secrets.json"))
KNOWN = VECTORS["strong"]
OTHER_FORMS = VECTORS["not_strong"]


@pytest.mark.parametrize("secret", KNOWN)
def test_known_secrets_stay_strong_but_not_with_one_character_changed_or_two_swapped(secret):
    changed = {
        secret[:place] + other + secret[place + 1 :]
        for place in range(len(secret))
        for other in BASE32_ALPHABET
        if other != secret[place]
    }
    swapped = {
        secret[:place] + secret[place + 1] + secret[place] + secret[place + 2 :]
        for place in range(len(secret) - 1)
    } - {secret}

    assert len(changed) == len(secret) * (len(BASE32_ALPHABET) - 1)
    assert [each for each in {secret} | changed | swapped if is_strong_secret(each)] == [secret]


@pytest.mark.parametrize("secret", OTHER_FORMS.values(), ids=OTHER_FORMS.keys())
def test_other_forms_are_not_strong(secret):
    assert not is_strong_secret(secret)


def test_made_secrets_are_strong_different_and_of_the_alphabet():
    made = [make_strong_secret() for _ in range(1000)]

    assert all(is_strong_secret(secret) for secret in made)
    assert len(set(made)) == len(made)
    assert {len(secret) for secret in made} == {32}
    assert set("".join(made)) == set(BASE32_ALPHABET)
