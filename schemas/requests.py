"""Marshmallow schemas of request bodies, and their error messages.

JSON types are strict: a string is never accepted as a number.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, post_load
from marshmallow.validate import Range

from deeds.errors import InvalidRequestError
from deeds.model import (
    AMOUNT_MAX,
    ARRAY_LENGTH_MAX,
    FindRequest,
    MintRequest,
    NewOutput,
    SwapRequest,
)
from deeds.raw_output import (
    RawOutputError,
    parse_mint_output,
    parse_raw_output,
    parse_secret,
    parse_text,
)

# RFC 3986 appendix A without the fragment, and RFC 2397 with a media type image/*. Only
# single characters repeat without bound, never groups: Python keeps state for each
# repetition of a group.
_CHARACTERS = r"A-Za-z0-9\-._~!$&'()*+,;=:@%"
_PATH_AND_QUERY = rf"[{_CHARACTERS}/?]*"
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)"
_USERINFO = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:%]*@)?"
_LOCATED = rf"//{_USERINFO}{_HOST}(?::[0-9]*)?(?:[/?]{_PATH_AND_QUERY})?"
_TOKEN = r"[A-Za-z0-9!#$&^_.+\-]+"
_IMAGE = re.compile(
    rf"https?:{_LOCATED}|(?:ipfs|ar):(?:{_LOCATED}|[{_CHARACTERS}]{_PATH_AND_QUERY})"
    rf"|data:image/{_TOKEN}(?:;{_TOKEN}={_TOKEN}){{0,16}}(?:;base64)?,"
    rf"{_PATH_AND_QUERY}",
    re.IGNORECASE,
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class WholeField(fields.Integer):
    """A JSON integer within bounds: not `1.0`, "1" or true."""

    def __init__(
        self, smallest: int = 1, largest: int = AMOUNT_MAX, **kwargs: Any
    ) -> None:
        demand = f"must be a JSON integer from {smallest} to {largest}"
        super().__init__(
            strict=True,
            validate=Range(smallest, largest, error=demand),
            error_messages={"invalid": demand},
            **kwargs,
        )


class TextField(fields.String):
    """A JSON string, converted by `parse`."""

    def __init__(self, parse: Callable[[str], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parse = parse

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, *args, **kwargs)
        try:
            return self.parse(text)
        except RawOutputError as error:
            raise ValidationError(str(error)) from None


class ArrayField(fields.Field[Any]):
    """An array, whose length is checked before any element is parsed.

    `length_max` is set by the schema.
    """

    length_max: int

    def __init__(self, length_min: int = 1) -> None:
        super().__init__(required=True)
        self.length_min = length_min

    def check(self, value: Any) -> None:
        """Raise ValidationError unless the value is an array of a valid length."""
        if not isinstance(value, list):
            raise ValidationError("must be an array")
        if not self.length_min <= len(value) <= self.length_max:
            raise ValidationError(
                f"must have {self.length_min} to {self.length_max} elements"
            )


class TextsField(ArrayField):
    """An array of JSON strings, each converted by `parse`."""

    def __init__(self, parse: Callable[[str], Any], length_min: int = 1) -> None:
        super().__init__(length_min)
        self.parse = parse

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        self.check(value)
        return parse_texts(self.parse, value)


def parse_texts(parse: Callable[[str], Any], values: Sequence[Any]) -> tuple[Any, ...]:
    """Convert each value by `parse`; raise ValidationError at the first invalid one."""
    # marshmallow's List and String fields would take three times as long as `parse`.
    parsed = []
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise ValidationError({index: ["must be a string"]})
        try:
            parsed.append(parse(value))
        except RawOutputError as error:
            raise ValidationError({index: [str(error)]}) from None
    return tuple(parsed)


class RequestSchema(Schema):
    """A request, or a part of one. Loading returns `makes(**fields)`."""

    makes: ClassVar[Callable[..., Any]]

    def __init__(
        self, *, array_length_max: int = ARRAY_LENGTH_MAX, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.array_length_max = array_length_max
        for each in self.fields.values():
            if isinstance(each, ArrayField):
                each.length_max = array_length_max

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> Any:
        return type(self).makes(**data)


class NewOutputSchema(RequestSchema):
    """An output object of a mint request (contract 2.2)."""

    makes = NewOutput

    amount = WholeField(required=True)
    secret = TextField(parse_secret, required=True)


class NewOutputsField(ArrayField):
    """An array of strings, or an array of output objects."""

    _objects = NewOutputSchema(many=True)

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        self.check(value)
        kinds = {type(element) for element in value}
        if kinds == {str}:
            return parse_texts(parse_mint_output, value)
        if kinds == {dict}:
            return tuple(self._objects.load(value))
        raise ValidationError("must be all strings or all objects")


def parse_image(text: str) -> str:
    """Return the text; raise ValidationError unless contract 2.3 permits the URI."""
    if _BAD_ESCAPE.search(text) or not _IMAGE.fullmatch(text):
        raise ValidationError(
            "must be an absolute URI with scheme http, https, ipfs or ar, "
            "or a data: URI with a media type image/*"
        )
    return text


def compact_json(**metadata: str) -> str:
    """Return metadata as the JSON text that an item stores (contract 2.4)."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))


class MetadataSchema(RequestSchema):
    """Mint metadata (contract 2.3). The fields are stored in this order."""

    makes = compact_json

    name = TextField(parse_text)
    description = TextField(parse_text)
    image = TextField(parse_image)


class MintRequestSchema(RequestSchema):
    """The body of a mint request."""

    makes = MintRequest

    outputs = NewOutputsField()
    metadata = fields.Nested(MetadataSchema, allow_none=True)


class SwapRequestSchema(RequestSchema):
    """The body of a swap request."""

    makes = SwapRequest

    inputs = TextsField(parse_raw_output)
    outputs = TextsField(parse_raw_output)


class FindRequestSchema(RequestSchema):
    """The body of a request that finds outputs by their secrets (contract 4.5)."""

    makes = FindRequest

    item_id = TextField(parse_text, data_key="itemId", required=True)
    # The service checks that they are strong secrets.
    secrets = TextsField(str)


class CheckRequestSchema(RequestSchema):
    """The body of a check request."""

    makes = staticmethod(lambda outputs: outputs)

    outputs = TextsField(parse_raw_output)


# Unknown keys that error messages quote: probably misspelt names. Other keys may be
# misplaced secrets.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,23}")

_MESSAGES = {
    "Unknown field.": "is not a field of this request",
    "Missing data for required field.": "is required",
    "Field may not be null.": "must not be null",
    "Invalid input type.": "must be an object",
    "Not a valid string.": "must be a string",
}


def load(schema: Schema, data: Any) -> Any:
    """Return the data as the schema loads it; raise InvalidRequestError.

    The error's detail names the first invalid field, never its value; `index` is the
    position of an invalid element.
    """
    try:
        return schema.load(data)
    except ValidationError as error:
        path, message = _first_fault(error.messages)
        where = "".join(_step(step) for step in path).lstrip(".")
        detail = f"{where or 'the body'}: {_MESSAGES.get(message, message)}"
        index = next((step for step in path if isinstance(step, int)), None)
        raise InvalidRequestError(detail, index=index) from None


def _first_fault(messages: Any) -> tuple[list[str | int], str]:
    path = []
    while not isinstance(messages, str):
        if isinstance(messages, dict):
            key, messages = next(iter(messages.items()))
            if key != "_schema":
                path.append(key)
        else:
            messages = messages[0]
    return path, messages


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _NAME.fullmatch(step) else ".(an unknown key)"
