"""Fields of the contract's types. JSON is taken as it is: no text turns into a number here."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from marshmallow import Schema, ValidationError, fields

from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX, RawOutput
from deeds.domain.raw_output import check_secret, check_text, parse_raw_output

Parsed = TypeVar("Parsed")


class BoundedSchema(Schema):
    """A request schema whose arrays have at most `array_length_max` elements."""

    def __init__(self, *, array_length_max: int) -> None:
        """Take the bound of every array of the request, at least 1."""
        super().__init__()
        self.array_length_max = array_length_max


class AmountField(fields.Field[int]):
    """A JSON integer from 1 to AMOUNT_MAX; `1.0`, `"1"` and `true` are none."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        if type(value) is not int or not 1 <= value <= AMOUNT_MAX:
            raise ValidationError(f"must be a JSON integer from 1 to {AMOUNT_MAX}")
        return value


class TextField(fields.Field[str]):
    """A JSON string that has a UTF-8 form."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> str:
        return _parsed(lambda text: check_text(text, "the text"), value)


class SecretField(fields.Field[str]):
    """A secret of 1 to 32 Unicode code points, taken exactly."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> str:
        return _parsed(check_secret, value)


class RawOutputField(fields.Field[RawOutput]):
    """A raw output string (contract 2.1)."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> RawOutput:
        return _parsed(parse_raw_output, value)


class ItemIdField(fields.String):
    """The id of an item, in answers."""


class RawOutputTextsField(fields.Function):
    """The raw output strings of an answer."""


class BoundedList(fields.List[Any]):
    """An array of 1 to `array_length_max` elements, measured before any of them is looked at."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> list[Any]:
        return super()._deserialize(check_array(self, value), attr, data, **kwargs)


def check_array(field: fields.Field[Any], value: Any) -> list[Any]:
    """Return the value if it is an array of an allowed length.

    Raises:
        ValidationError: it is not.
    """
    length_max = array_length_max(field)
    if not isinstance(value, list):
        raise ValidationError("must be an array")
    if not 1 <= len(value) <= length_max:
        raise ValidationError(f"must have 1 to {length_max} elements")
    return value


def array_length_max(field: fields.Field[Any]) -> int:
    """Return the bound that the request schema of an array field was made with."""
    schema = field.root
    if not isinstance(schema, BoundedSchema):
        raise TypeError("an array field belongs to a BoundedSchema")
    return schema.array_length_max


def _parsed(parse: Callable[[str], Parsed], value: Any) -> Parsed:
    if not isinstance(value, str):
        raise ValidationError("must be a string")
    try:
        return parse(value)
    except RawOutputError as error:
        raise ValidationError(str(error)) from None
