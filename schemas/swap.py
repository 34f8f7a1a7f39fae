"""Request and answer of POST /v1/swap (contract 4.2)."""

from typing import Any

from marshmallow import fields, post_load

from deeds.domain.model import SwapRequest
from schemas.answer import AnswerSchema
from schemas.fields import BoundedList, BoundedSchema, RawOutputField


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


class SwapResponseSchema(AnswerSchema):
    """The answer to a swap that was made."""

    success = fields.Constant(True, required=True, metadata={"type": "boolean"})
