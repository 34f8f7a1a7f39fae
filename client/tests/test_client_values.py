"""Values that check themselves, as the service checks them."""

import pytest

from deeds.domain.raw_output import is_strong_secret
from deeds_client.errors import InvalidInputError
from deeds_client.values import AMOUNT_MAX, Item, Output

ID = f"deed_{'x' * 26}"
RAW_OUTPUTS = {
    f"+5.{ID}.s3cret": Output(5, ID, "s3cret"),
    f"+{AMOUNT_MAX}.deed_.a.b+c\n ": Output(AMOUNT_MAX, "deed_", "a.b+c\n "),
    f"+1.{ID}.{'😀' * 32}": Output(1, ID, "😀" * 32),
}


@pytest.mark.parametrize(("raw", "output"), RAW_OUTPUTS.items())
def test_a_raw_output_is_read_and_written(raw, output):
    assert Output.parse(raw) == output
    assert output.raw == raw


INVALID = ["", "5", f"5.{ID}.a", f"+5.{ID}", f"+5.{ID}.", "+5.item_1.a", "+5..a"]
INVALID += [
    f"+{amount}.{ID}.a" for amount in ("05", "0", "\u0665", AMOUNT_MAX + 1, "9" * 5000)
]
INVALID += [
    f"+5.{ID}.{'a' * 33}",
    f"+5.{ID}.\ud800",
    "+5.deed_\ud800.a",
    f"+5.deed_{'x' * 300}.a",
]


MADE = [(Output.parse, raw) for raw in INVALID]
MADE += [
    (Output.fresh, amount) for amount in (0, -1, AMOUNT_MAX + 1, True, 1.0, "5", None)
]
MADE += [
    (lambda part: Output(5, ID, part), 5),
    (lambda part: Output(5, f"{ID}.{part}", part), "a"),
]


@pytest.mark.parametrize(("make", "part"), MADE)
def test_what_is_no_output_is_refused(make, part):
    with pytest.raises(InvalidInputError):
        make(part)


def test_secrets_are_strong_as_the_service_has_it():
    assert is_strong_secret(Output.fresh(5).secret)
    assert Output.fresh(5).secret != Output.fresh(5).secret


@pytest.mark.parametrize(
    "metadata", [None, "", "[]", "not JSON", '{"name":5}', "[" * 100_000]
)
def test_metadata_of_any_form_breaks_nothing(metadata):
    assert (Item(ID, 5, metadata).name, Item(ID, 5, '{"name":"A"}').name) == ("", "A")
