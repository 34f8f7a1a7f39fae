"""Answer of GET /v1/item/{id} (contract 4.3)."""

from marshmallow import fields

from schemas.answer import AnswerSchema
from schemas.fields import AmountField, ItemIdField


class ItemSchema(AnswerSchema):
    """A registry item (contract 2.4)."""

    id = ItemIdField(required=True)
    total = AmountField(
        required=True, metadata={"description": "All units of the item, in whosever hands."}
    )
    metadata = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "The metadata of the mint as compact JSON text, or null where the mint "
            "had none. Anybody may have written it: treat it as text, never as HTML."
        },
    )
