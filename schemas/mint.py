"""Request and answer of POST /v1/mint (contract 4.1)."""

import json
from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load

from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX, MintRequest, NewOutput
from deeds.domain.raw_output import parse_mint_output
from schemas.answer import AnswerSchema
from schemas.fields import (
    AmountField,
    BoundedSchema,
    ItemIdField,
    RawOutputTextsField,
    SecretField,
    TextField,
    check_array,
)
from schemas.image import ImageField


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

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> list[NewOutput]:
        elements = check_array(self, value)
        if all(isinstance(element, str) for element in elements):
            return _parse_all(elements)
        if all(isinstance(element, dict) for element in elements):
            outputs: list[NewOutput] = NewOutputSchema(many=True).load(elements)
            return outputs
        raise ValidationError("must be all strings or all objects")


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


class OutputSchema(AnswerSchema):
    """An output object of a mint's answer (contract 2.2)."""

    amount = AmountField(required=True)
    secret = SecretField(required=True)
    itemId = ItemIdField(attribute="item_id", required=True)  # noqa: N815 - the contract's name


class MintResponseSchema(AnswerSchema):
    """The answer to a mint."""

    itemId = ItemIdField(attribute="item_id", required=True)  # noqa: N815 - the contract's name
    outputs = fields.List(
        fields.Nested(OutputSchema),
        required=True,
        metadata={"description": "The outputs in the order of the request."},
    )
    rawOutputs = RawOutputTextsField(  # noqa: N815 - the contract's name
        lambda minted: [str(raw) for raw in minted.outputs],
        required=True,
        metadata={"description": "The same outputs as strings, ready to be swapped."},
    )


def _parse_all(texts: list[str]) -> list[NewOutput]:
    parsed, errors = [], {}
    for index, text in enumerate(texts):
        try:
            parsed.append(parse_mint_output(text))
        except RawOutputError as error:
            errors[index] = [str(error)]
    if errors:
        raise ValidationError(errors)
    return parsed
