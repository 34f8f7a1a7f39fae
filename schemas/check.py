"""Request and answer of POST /v1/check (contract part 2)."""

from typing import Any

from marshmallow import fields, post_load

from deeds.domain.model import CheckRequest, OutputState
from schemas.answer import AnswerSchema
from schemas.fields import BoundedList, BoundedSchema, RawOutputField


class CheckRequestSchema(BoundedSchema):
    """The body of a check request."""

    outputs = BoundedList(
        RawOutputField(), required=True, metadata={"description": "What to look up."}
    )

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> CheckRequest:
        return CheckRequest(tuple(data["outputs"]))


class CheckResponseSchema(AnswerSchema):
    """The state of each output, in the order of the request."""

    states = fields.List(
        fields.Enum(OutputState, by_value=True, metadata={"type": "string"}),
        required=True,
        metadata={
            "description": "One for each output of the request, in its order. Unknown: no output "
            "has ever had this item, amount and secret."
        },
    )
