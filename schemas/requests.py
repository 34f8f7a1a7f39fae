"""The bodies of all requests, and what is wrong with one in a sentence."""

import json
import re
from collections.abc import Iterator
from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load

from deeds.domain.errors import InvalidRequestError
from deeds.domain.model import (
    AMOUNT_MAX,
    QR_TEXT_LENGTH_MAX,
    CheckRequest,
    MintRequest,
    NewOutput,
    QrRequest,
    SwapRequest,
)
from deeds.domain.raw_output import check_secret, check_text, parse_mint_output, parse_raw_output
from schemas.fields import (
    AmountField,
    BoundedList,
    BoundedSchema,
    RequestSchema,
    TextField,
    about,
    check_array,
    check_image,
    required,
)


def check_any_text(text: str) -> str:
    """Return the text if all of it has a UTF-8 form; raise RawOutputError where it has not."""
    return check_text(text, "the text")


def check_qr_text(text: str) -> str:
    """Return the text if it may be put into a QR code; raise what says why not."""
    if not 1 <= len(text) <= QR_TEXT_LENGTH_MAX:
        raise ValidationError(f"must have 1 to {QR_TEXT_LENGTH_MAX} characters")
    return check_any_text(text)


class NewOutputSchema(RequestSchema):
    """An output object of a mint request (contract 2.2)."""

    makes = NewOutput

    amount = AmountField(**required("Units of the new item."))
    secret = TextField(
        check_secret, **required("Whoever knows it owns the units. Unlike any other of the mint.")
    )


class MetadataSchema(Schema):
    """Mint metadata (contract 2.3)."""

    name = TextField(
        check_any_text, metadata=about("Identifies the asset that the deed represents.")
    )
    description = TextField(check_any_text, metadata=about("Describes the asset."))
    image = TextField(
        check_image,
        metadata=about(
            "An absolute URI with scheme http, https, ipfs or ar, or a data: URI with a media type "
            "image/*. Best 320 to 1080 pixels wide and of an aspect ratio from 1.91:1 to 4:5."
        ),
    )

    @post_load
    def _make(self, data: dict[str, str], **_kwargs: Any) -> str:
        ordered = {key: data[key] for key in ("name", "description", "image") if key in data}
        return json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))


class NewOutputsField(fields.Field[tuple[NewOutput, ...]]):
    """An array of strings, or an array of output objects."""

    _strings = fields.List(TextField(parse_mint_output))

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> tuple[NewOutput, ...]:
        elements = check_array(self, value)
        outputs: Any
        if all(isinstance(element, str) for element in elements):
            outputs = self._strings.deserialize(elements)
        elif all(isinstance(element, dict) for element in elements):
            outputs = NewOutputSchema(many=True).load(elements)
        else:
            raise ValidationError("must be all strings or all objects")
        return tuple(outputs)


class MintRequestSchema(BoundedSchema):
    """The body of a mint request."""

    makes = MintRequest

    outputs = NewOutputsField(
        **required(
            "What to issue: all strings or all objects. The amounts add up to at most "
            f"{AMOUNT_MAX}."
        )
    )
    metadata = fields.Nested(
        MetadataSchema,
        allow_none=True,
        load_default=None,
        metadata=about("Kept with the item for good, for all to read."),
    )


class SwapRequestSchema(BoundedSchema):
    """The body of a swap request."""

    makes = SwapRequest

    inputs = BoundedList(
        TextField(parse_raw_output),
        **required("The outputs to spend, each with its current secret.", uniqueItems=True),
    )
    outputs = BoundedList(
        TextField(parse_raw_output),
        **required(
            "The outputs to create, each with a secret that the item never had. Of every item "
            "they add up to as much as its inputs.",
            uniqueItems=True,
        ),
    )


class CheckRequestSchema(BoundedSchema):
    """The body of a check request."""

    makes = CheckRequest

    outputs = BoundedList(TextField(parse_raw_output), **required("What to look up."))


class QrRequestSchema(RequestSchema):
    """The body of a request for a QR code."""

    makes = QrRequest

    text = TextField(check_qr_text, required=True)


# A key of the contract has at most 11 letters. What looks like a misspelt one is named; anything
# else may be a secret that slipped into the wrong place.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,23}")

_MESSAGES = {
    "Unknown field.": "is not a field of this request",
    "Missing data for required field.": "is required",
    "Field may not be null.": "must not be null",
    "Invalid input type.": "must be an object",
}


def load(schema: Schema, data: Any) -> Any:
    """Return what the schema makes of the data.

    Raises:
        InvalidRequestError: the data has another shape. The detail names the first field at fault
            and `index` the element of the array, never the value.
    """
    try:
        return schema.load(data)
    except ValidationError as error:
        path, message = next(_leaves(error.messages, ()))
        where = "".join(_step(step) for step in path).lstrip(".")
        detail = f"{where or 'the body'}: {_MESSAGES.get(message, message)}"
        index = next((step for step in path if isinstance(step, int)), None)
        raise InvalidRequestError(detail, index=index) from None


def _leaves(
    messages: Any, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(messages, dict):
        for key, below in messages.items():
            yield from _leaves(below, path if key == "_schema" else (*path, key))
    elif isinstance(messages, list):
        for each in messages:
            yield from _leaves(each, path)
    else:
        yield path, str(messages)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _NAME.fullmatch(step) else ".(an unknown key)"
