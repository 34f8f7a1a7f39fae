"""The bodies of all requests, and what is wrong with one in a sentence."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load

from deeds.domain.errors import InvalidRequestError
from deeds.domain.model import (
    AMOUNT_MAX,
    CheckRequest,
    MintRequest,
    NewOutput,
    QrRequest,
    SwapRequest,
)
from schemas.fields import (
    AmountField,
    BoundedList,
    BoundedSchema,
    ImageField,
    MintOutputField,
    QrTextField,
    RawOutputField,
    SecretField,
    TextField,
    check_array,
)


class NewOutputSchema(Schema):
    """An output object of a mint request (contract 2.2)."""

    amount = AmountField(required=True, metadata={"description": "Units of the new item."})
    secret = SecretField(
        required=True,
        metadata={"description": "Whoever knows it owns the units. Unlike any other of the mint."},
    )

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> NewOutput:
        return NewOutput(**data)


class MetadataSchema(Schema):
    """Mint metadata (contract 2.3)."""

    name = TextField(metadata={"description": "Identifies the asset that the deed represents."})
    description = TextField(metadata={"description": "Describes the asset."})
    image = ImageField(
        metadata={
            "description": "An absolute URI with scheme http, https, ipfs or ar, or a data: URI "
            "with a media type image/*. Best 320 to 1080 pixels wide and of an aspect ratio "
            "from 1.91:1 to 4:5."
        }
    )

    @post_load
    def _make(self, data: dict[str, str], **_kwargs: Any) -> str:
        ordered = {key: data[key] for key in ("name", "description", "image") if key in data}
        return json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))


class NewOutputsField(fields.Field[list[NewOutput]]):
    """An array of strings, or an array of output objects."""

    _texts = fields.List(MintOutputField())

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> list[NewOutput]:
        elements = check_array(self, value)
        outputs: Any
        if all(isinstance(element, str) for element in elements):
            outputs = self._texts.deserialize(elements)
        elif all(isinstance(element, dict) for element in elements):
            outputs = NewOutputSchema(many=True).load(elements)
        else:
            raise ValidationError("must be all strings or all objects")
        return list(outputs)


class MintRequestSchema(BoundedSchema):
    """The body of a mint request."""

    outputs = NewOutputsField(
        required=True,
        metadata={
            "description": "What to issue: all strings or all objects. The amounts add up to at "
            f"most {AMOUNT_MAX}."
        },
    )
    metadata = fields.Nested(
        MetadataSchema,
        allow_none=True,
        load_default=None,
        metadata={"description": "Kept with the item for good, for all to read."},
    )

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> MintRequest:
        return MintRequest(tuple(data["outputs"]), data["metadata"])


class SwapRequestSchema(BoundedSchema):
    """The body of a swap request."""

    inputs = BoundedList(
        RawOutputField(),
        required=True,
        metadata={
            "uniqueItems": True,
            "description": "The outputs to spend, each with its current secret.",
        },
    )
    outputs = BoundedList(
        RawOutputField(),
        required=True,
        metadata={
            "uniqueItems": True,
            "description": "The outputs to create, each with a secret that the item never had. "
            "Of every item they add up to as much as its inputs.",
        },
    )

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> SwapRequest:
        return SwapRequest(tuple(data["inputs"]), tuple(data["outputs"]))


class CheckRequestSchema(BoundedSchema):
    """The body of a check request."""

    outputs = BoundedList(
        RawOutputField(), required=True, metadata={"description": "What to look up."}
    )

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> CheckRequest:
        return CheckRequest(tuple(data["outputs"]))


class QrRequestSchema(Schema):
    """The body of a request for a QR code."""

    text = QrTextField(required=True)

    @post_load
    def _make(self, data: dict[str, str], **_kwargs: Any) -> QrRequest:
        return QrRequest(data["text"])


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
