"""The bodies of all requests, and what is wrong with one in a sentence.

JSON is taken as it is: no text turns into a number here.
"""

import json
import re
from collections.abc import Callable
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, post_load
from marshmallow.validate import Range

from deeds.domain.errors import InvalidRequestError, RawOutputError
from deeds.domain.model import (
    AMOUNT_MAX,
    ARRAY_LENGTH_MAX,
    OFFER_EXPIRES_IN_S,
    OFFER_EXPIRES_IN_S_DEFAULT,
    MintRequest,
    NewOutput,
    OfferRequest,
    SwapRequest,
)
from deeds.domain.raw_output import (
    check_secret,
    check_text,
    parse_mint_output,
    parse_raw_output,
)

# Only single characters are repeated without bound, never groups: Python remembers each
# round of a group, 190 bytes for each byte of a long image. So a % stands among the
# characters, and what must follow it is checked separately.
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

# RFC 3986 appendix A, without the fragment: section 4.3 calls that form an absolute
# URI.
_CHARACTERS = r"A-Za-z0-9\-._~!$&'()*+,;=:@%"
_PATH_AND_QUERY = rf"[{_CHARACTERS}/?]*"
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)"
_USERINFO = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:%]*@)?"
_LOCATED = rf"//{_USERINFO}{_HOST}(?::[0-9]*)?(?:[/?]{_PATH_AND_QUERY})?"

# RFC 2397: data:[<mediatype>][;base64],<data>, here with a media type that is image/*.
# One has one parameter at most in practice.
_TOKEN = r"[A-Za-z0-9!#$&^_.+\-]+"

_IMAGE = re.compile(
    rf"https?:{_LOCATED}|(?:ipfs|ar):(?:{_LOCATED}|[{_CHARACTERS}]{_PATH_AND_QUERY})"
    rf"|data:image/{_TOKEN}(?:;{_TOKEN}={_TOKEN}){{0,16}}(?:;base64)?,{_PATH_AND_QUERY}",
    re.IGNORECASE,
)


def about(description: str, *, required: bool = True, **schema: Any) -> dict[str, Any]:
    """Return the arguments of a field: what the OpenAPI document says of it."""
    return {"required": required, "metadata": {"description": description, **schema}}


def check_image(text: str) -> str:
    """Return the text.

    Raise ValidationError unless a page may show it (contract part 2).
    """
    if _BAD_ESCAPE.search(text) or not _IMAGE.fullmatch(text):
        raise ValidationError(
            "must be an absolute URI with scheme http, https, ipfs or ar, "
            "or a data: URI with a media type image/*"
        )
    return text


class WholeField(fields.Integer):
    """A JSON integer, from 1 to AMOUNT_MAX unless given other bounds.

    Not `1.0`, "1" or true.
    """

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


class TextField(fields.Field[Any]):
    """A JSON string, made into what `parse` returns for it."""

    def __init__(self, parse: Callable[[str], Any], **kwargs: Any) -> None:
        """Create a field.

        `parse` raises RawOutputError or ValidationError for an invalid text.
        """
        super().__init__(**kwargs)
        self.parse = parse

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        try:
            return self.parse(value)
        except RawOutputError as error:
            raise ValidationError(str(error)) from None


class RawOutputsField(fields.Field[tuple[Any, ...]]):
    """An array of `length_min` to `length_max` raw outputs, measured before any is parsed."""

    length_max: int  # Set by the schema.
    _strings = fields.List(TextField(parse_raw_output))

    def __init__(self, length_min: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.length_min = length_min

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValidationError("must be an array")
        if not self.length_min <= len(value) <= self.length_max:
            raise ValidationError(
                f"must have {self.length_min} to {self.length_max} elements"
            )
        return tuple(self._parse(value))

    def _parse(self, elements: list[Any]) -> Any:
        return self._strings.deserialize(elements)


class RequestSchema(Schema):
    """A request, or a part of one, that is loaded as what `makes` makes of its fields."""

    makes: ClassVar[Callable[..., Any]]

    def __init__(
        self, *, array_length_max: int = ARRAY_LENGTH_MAX, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for each in self.fields.values():
            if isinstance(each, RawOutputsField):
                each.length_max = array_length_max

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> Any:
        return type(self).makes(**data)


class NewOutputSchema(RequestSchema):
    """An output object of a mint request (contract 2.2)."""

    makes = NewOutput

    amount = WholeField(**about("Units of the new item."))
    secret = TextField(
        check_secret,
        **about("Whoever knows it owns the units. Unlike any other of the mint."),
    )


class NewOutputsField(RawOutputsField):
    """An array of strings, or an array of output objects."""

    _strings = fields.List(TextField(parse_mint_output))
    _objects = NewOutputSchema(many=True)

    def _parse(self, elements: list[Any]) -> Any:
        if all(isinstance(element, dict) for element in elements):
            return self._objects.load(elements)
        if not all(isinstance(element, str) for element in elements):
            raise ValidationError("must be all strings or all objects")
        return super()._parse(elements)


def compact_json(**metadata: str) -> str:
    """Return the text that an item keeps of its metadata (contract part 2)."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))


class MetadataSchema(RequestSchema):
    """Mint metadata (contract 2.3). The fields are kept in this order."""

    makes = compact_json

    name = TextField(
        check_text,
        **about("Identifies the asset that the deed represents.", required=False),
    )
    description = TextField(check_text, **about("Describes the asset.", required=False))
    image = TextField(
        check_image,
        **about(
            "An absolute URI with scheme http, https, ipfs or ar, or a data: URI with a media type "
            "image/*. Best 320 to 1080 pixels wide and of an aspect ratio from 1.91:1 to 4:5.",
            required=False,
        ),
    )


class MintRequestSchema(RequestSchema):
    """The body of a mint request."""

    makes = MintRequest

    outputs = NewOutputsField(
        **about(
            "What to issue: all strings or all objects. The amounts add up to at most "
            f"{AMOUNT_MAX}."
        )
    )
    metadata = fields.Nested(
        MetadataSchema,
        allow_none=True,
        load_default=None,
        **about("Kept with the item for good, for all to read.", required=False),
    )


class SwapRequestSchema(RequestSchema):
    """The body of a swap request."""

    makes = SwapRequest

    inputs = RawOutputsField(
        **about("The outputs to spend, each with its current secret.", uniqueItems=True)
    )
    outputs = RawOutputsField(
        **about(
            "The outputs to create, each with a secret that the item never had. Of every item "
            "they add up to as much as its inputs.",
            uniqueItems=True,
        )
    )


class OfferRequestSchema(RequestSchema):
    """The body of the making of an offer (contract part 3)."""

    makes = OfferRequest

    inputs = RawOutputsField(
        0,
        **about(
            "What the maker gives, each with its current secret; none in a payment request.",
            uniqueItems=True,
        ),
    )
    outputs = RawOutputsField(
        **about(
            "What the maker gets, change included, each under a fresh strong secret. Of at least "
            "one item they are more than the inputs, and of none more than its total.",
            uniqueItems=True,
        )
    )
    expires_in_s = WholeField(
        *OFFER_EXPIRES_IN_S,
        data_key="expiresIn",
        load_default=OFFER_EXPIRES_IN_S_DEFAULT,
        **about("For how many seconds it can be completed.", required=False),
    )


class CompletionRequestSchema(SwapRequestSchema):
    """The body of the completion of an offer (contract part 3).

    The other half of a swap.
    """

    outputs = RawOutputsField(
        0,
        **about(
            "What the offer gives, and change, each with a secret that the item never had. Of "
            "every item both halves together spend as much as they create.",
            uniqueItems=True,
        ),
    )


class CheckRequestSchema(RequestSchema):
    """The body of a check request."""

    makes = staticmethod(lambda outputs: outputs)

    outputs = RawOutputsField(**about("What to look up."))


# A key of the contract has at most 11 letters. What looks like a misspelt one is named;
# anything else may be a secret that slipped into the wrong place.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,23}")

_MESSAGES = {
    "Unknown field.": "is not a field of this request",
    "Missing data for required field.": "is required",
    "Field may not be null.": "must not be null",
    "Invalid input type.": "must be an object",
}


def load(schema: Schema, data: Any) -> Any:
    """Return what the schema makes of the data; raise InvalidRequestError.

    Its detail names the first field at fault and `index` the element of the array,
    never the value.
    """
    try:
        return schema.load(data)
    except ValidationError as error:
        path, message = _first_fault(error.messages)
        where = "".join(_step(step) for step in path).lstrip(".")
        detail = f"{where or 'the body'}: {_MESSAGES.get(message, message)}"
        index = next((step for step in path if isinstance(step, int)), None)
        raise InvalidRequestError(detail, index=index) from None


def _first_fault(messages: Any, *path: str | int) -> tuple[tuple[str | int, ...], str]:
    if isinstance(messages, dict):
        key, below = next(iter(messages.items()))
        return (
            _first_fault(below, *path)
            if key == "_schema"
            else _first_fault(below, *path, key)
        )
    if isinstance(messages, list):
        return _first_fault(messages[0], *path)
    return path, str(messages)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _NAME.fullmatch(step) else ".(an unknown key)"
