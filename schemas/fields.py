"""Fields of the contract's types. JSON is taken as it is: no text turns into a number here."""

import re
from collections.abc import Callable
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, post_load

from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX

# Only single characters are repeated without bound, never groups: Python remembers each round of a
# group, 190 bytes for each byte of a long image. So a % stands among the characters, and what must
# follow it is checked separately.
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

# RFC 3986 appendix A, without the fragment: section 4.3 calls that form an absolute URI.
_CHARACTERS = r"A-Za-z0-9\-._~!$&'()*+,;=:@%"
_PATH = rf"[{_CHARACTERS}/]*"
_QUERY = rf"(?:\?[{_CHARACTERS}/?]*)?"
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)"
_USERINFO = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:%]*@)?"
_AUTHORITY = rf"//{_USERINFO}{_HOST}(?::[0-9]*)?"

# RFC 2397: data:[<mediatype>][;base64],<data>, here with a media type that is image/*. One has one
# parameter at most in practice.
_TOKEN = r"[A-Za-z0-9!#$&^_.+\-]+"

_IMAGES = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"https?:{_AUTHORITY}(?:/{_PATH})?{_QUERY}",
        rf"(?:ipfs|ar):(?:{_AUTHORITY}(?:/{_PATH})?|[{_CHARACTERS}]{_PATH}){_QUERY}",
        rf"data:image/{_TOKEN}(?:;{_TOKEN}={_TOKEN}){{0,16}}(?:;base64)?,{_PATH}{_QUERY}",
    )
]


def about(description: str, **schema: Any) -> dict[str, Any]:
    """Return the metadata of a field: what the OpenAPI document says of it."""
    return {"description": description, **schema}


def required(description: str, **schema: Any) -> dict[str, Any]:
    """Return the arguments of a field that must be there, with what OpenAPI says of it."""
    return {"required": True, "metadata": about(description, **schema)}


def check_image(text: str) -> str:
    """Return the text if it is a URI that a page may show as an image (contract part 2).

    Raises:
        ValidationError: it is not.
    """
    if _BAD_ESCAPE.search(text) or not any(form.fullmatch(text) for form in _IMAGES):
        raise ValidationError(
            "must be an absolute URI with scheme http, https, ipfs or ar, "
            "or a data: URI with a media type image/*"
        )
    return text


class AmountField(fields.Field[int]):
    """A JSON integer from 1 to AMOUNT_MAX; `1.0`, `"1"` and `true` are invalid."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> int:
        if type(value) is not int or not 1 <= value <= AMOUNT_MAX:
            raise ValidationError(f"must be a JSON integer from 1 to {AMOUNT_MAX}")
        return value


class TextField(fields.Field[Any]):
    """A JSON string, made into what `parse` returns for it."""

    def __init__(self, parse: Callable[[str], Any], **kwargs: Any) -> None:
        """Take what raises RawOutputError or ValidationError where the text is invalid."""
        super().__init__(**kwargs)
        self.parse = parse

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        try:
            return self.parse(value)
        except RawOutputError as error:
            raise ValidationError(str(error)) from None


class ItemIdField(fields.String):
    """The id of an item, in answers."""


class RawOutputTextsField(fields.Function):
    """The raw output strings of an answer."""


class RequestSchema(Schema):
    """A request, or a part of one, that is loaded as what `makes` makes of its fields."""

    makes: ClassVar[Callable[..., Any]]

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> Any:
        return type(self).makes(**data)


class BoundedSchema(RequestSchema):
    """A request whose arrays have at most `array_length_max` elements."""

    def __init__(self, *, array_length_max: int) -> None:
        """Take the bound of every array of the request, at least 1."""
        super().__init__()
        self.array_length_max = array_length_max


class BoundedList(fields.List[Any]):
    """An array of 1 to `array_length_max` elements, measured before any of them is parsed."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return tuple(super()._deserialize(check_array(self, value), *args, **kwargs))


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
