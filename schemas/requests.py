"""The bodies of all requests, and what is wrong with one in a sentence."""

import json
import re
from collections.abc import Callable
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, post_load

from deeds.domain.errors import InvalidRequestError
from deeds.domain.model import (
    AMOUNT_MAX,
    ARRAY_LENGTH_MAX,
    OFFER_EXPIRES_IN_S,
    OFFER_EXPIRES_IN_S_DEFAULT,
    FindRequest,
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
from schemas.fields import (
    SECRET_LENGTH,
    ArrayField,
    TextField,
    WholeField,
    about,
    described_as,
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
    rf"|data:image/{_TOKEN}(?:;{_TOKEN}={_TOKEN}){{0,16}}(?:;base64)?,"
    rf"{_PATH_AND_QUERY}",
    re.IGNORECASE,
)


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


class RequestSchema(Schema):
    """A request, or a part of one, loaded as what `makes` makes of its fields."""

    makes: ClassVar[Callable[..., Any]]

    def __init__(
        self, *, array_length_max: int = ARRAY_LENGTH_MAX, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.array_length_max = array_length_max
        for each in self.fields.values():
            if isinstance(each, ArrayField):
                each.length_max = array_length_max
                # For the OpenAPI document.
                each.metadata = {
                    **each.metadata,
                    "minItems": each.length_min,
                    "maxItems": array_length_max,
                }

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> Any:
        return type(self).makes(**data)


class NewOutputSchema(RequestSchema):
    """An output object of a mint request (contract 2.2)."""

    makes = NewOutput

    amount = WholeField(**about("Units of the new item."))
    secret = TextField(
        check_secret,
        **about(
            "Whoever knows it owns the units. Unlike any other of the mint.",
            **SECRET_LENGTH,
        ),
    )


class NewOutputsField(ArrayField):
    """An array of strings, or an array of output objects."""

    _strings = fields.List(TextField(parse_mint_output))
    _objects = NewOutputSchema(many=True)

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> Any:
        self.check(value)
        kinds = {type(element) for element in value}
        if kinds == {str}:
            return tuple(self._strings.deserialize(value))
        if kinds == {dict}:
            return tuple(self._objects.load(value))
        raise ValidationError("must be all strings or all objects")


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
            "An absolute URI with scheme http, https, ipfs or ar, or a data: URI with "
            "a media type image/*. Best 320 to 1080 pixels wide, and 1.91:1 to 4:5.",
            format="uri",
            required=False,
        ),
    )


METADATA_NAMES = tuple(MetadataSchema().fields)


class MintRequestSchema(RequestSchema):
    """The body of a mint request."""

    makes = MintRequest

    # Two arrays would say that it is all strings or all objects, but generators of
    # clients do not understand them.
    outputs = NewOutputsField(
        fields.Raw(
            metadata={"oneOf": [described_as("MintOutput"), described_as("NewOutput")]}
        ),
        **about(
            "What to issue: all strings or all objects, a mixture is refused. The "
            f"amounts add up to at most {AMOUNT_MAX}.",
            uniqueItems=True,
        ),
    )
    # What a request leaves out is left to the value object: with a `load_default` the
    # document has a `default`, and generators of clients then require the field.
    metadata = fields.Nested(
        MetadataSchema,
        allow_none=True,
        **about("Kept with the item for good, for all to read.", required=False),
    )


_RAW_OUTPUT = TextField(
    parse_raw_output, metadata={"allOf": [described_as("RawOutput")]}
)


class RawOutputsField(ArrayField):
    """An array of raw outputs, no two of which are the same."""

    def __init__(self, description: str, length_min: int = 1) -> None:
        super().__init__(
            _RAW_OUTPUT, length_min, **about(description, uniqueItems=True)
        )


class SwapRequestSchema(RequestSchema):
    """The body of a swap request."""

    makes = SwapRequest

    inputs = RawOutputsField("The outputs to spend, each with its current secret.")
    outputs = RawOutputsField(
        "The outputs to create, each with a secret that the item never had. Of every "
        "item they add up to as much as its inputs."
    )


class OfferRequestSchema(RequestSchema):
    """The body of the making of an offer (contract part 3)."""

    makes = OfferRequest

    inputs = RawOutputsField(
        "What the maker gives, each with its secret; none in a payment request.",
        length_min=0,
    )
    outputs = RawOutputsField(
        "What the maker gets, change included, each under a fresh strong secret. Of "
        "some item they are more than the inputs, of none more than its total."
    )
    expires_in_s = WholeField(
        *OFFER_EXPIRES_IN_S,
        data_key="expiresIn",
        **about(
            "For how many seconds it can be completed: without it, "
            f"{OFFER_EXPIRES_IN_S_DEFAULT}.",
            required=False,
        ),
    )


class CompletionRequestSchema(SwapRequestSchema):
    """The body of the completion of an offer, half a swap (contract part 3)."""

    outputs = RawOutputsField(
        "What the offer gives, and change, each with a secret that the item never had. "
        "Of every item both halves together spend as much as they create.",
        length_min=0,
    )


class FindRequestSchema(RequestSchema):
    """The body of a request that finds outputs by their secrets (contract part 4)."""

    makes = FindRequest

    item_id = TextField(check_text, data_key="itemId", **about("The item to look in."))
    # The service judges them as secrets.
    secrets = ArrayField(
        TextField(str), **about("Strong secrets to look for; one may repeat.")
    )


class CheckRequestSchema(RequestSchema):
    """The body of a check request."""

    makes = staticmethod(lambda outputs: outputs)

    outputs = ArrayField(_RAW_OUTPUT, **about("What to look up."))


# A key of the contract has at most 11 letters. What looks like a misspelt one is named;
# anything else may be a secret that slipped into the wrong place.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,23}")

_MESSAGES = {
    "Unknown field.": "is not a field of this request",
    "Missing data for required field.": "is required",
    "Field may not be null.": "must not be null",
    "Invalid input type.": "must be an object",
    "Not a valid string.": "must be a string",
    "Not a valid list.": "must be an array",
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
