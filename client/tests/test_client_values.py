"""Values that check themselves, as the service checks them."""

import pytest

from deeds_client.errors import InvalidInputError
from deeds_client.values import AMOUNT_MAX, Item, Output, Secret
from tests.support.strong_secrets import is_strong_secret

ID = f"deed_{'x' * 26}"


@pytest.mark.parametrize(
    ("amount", "item_id", "secret"),
    [(1, ID, "😀" * 32), (AMOUNT_MAX, "deed_", "a.b+c\n ")],
    ids=["emoji", "dots"],
)
def test_a_raw_output_is_read(amount, item_id, secret):
    output = Output.parse(f"+{amount}.{item_id}.{secret}")

    assert output == Output(amount, item_id, Secret(secret))


INVALID = {
    "no plus": f"5.{ID}.a",
    "an empty secret": f"+5.{ID}.",
    "a leading zero": f"+05.{ID}.a",
    "another digit": f"+\u0665.{ID}.a",
    "too much": f"+{AMOUNT_MAX + 1}.{ID}.a",
    "5000 digits": f"+{'9' * 5000}.{ID}.a",
    "a secret of 33": f"+5.{ID}.{'a' * 33}",
    "a surrogate in the secret": f"+5.{ID}.\ud800",
}


@pytest.mark.parametrize("raw", INVALID.values(), ids=INVALID)
def test_what_is_no_raw_output_is_refused(raw):
    with pytest.raises(InvalidInputError):
        Output.parse(raw)


@pytest.mark.parametrize("amount", [0, AMOUNT_MAX + 1, True])
def test_what_is_no_amount_is_refused(amount):
    with pytest.raises(InvalidInputError):
        Output.fresh(amount)


@pytest.mark.parametrize(("item_id", "secret"), [(ID, ""), (f"{ID}.a", "a")])
def test_no_output_is_made_of_other_parts(item_id, secret):
    with pytest.raises(InvalidInputError):
        Output(5, item_id, Secret(secret))


def test_secrets_are_strong_as_the_service_has_it():
    assert is_strong_secret(Output.fresh(5).secret.reveal())
    assert Output.fresh(5).secret != Output.fresh(5).secret


@pytest.mark.parametrize("metadata", ['{"name":5}', None, "[" * 100_000])
def test_metadata_of_any_form_breaks_nothing(metadata):
    assert Item(ID, 5, metadata).name == ""
