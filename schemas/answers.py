"""The bodies of the answers that tell of the ledger (contract 2 and 4)."""

from typing import Any

from marshmallow import EXCLUDE, Schema, fields

from deeds.domain.model import OfferState, OutputState
from schemas.fields import SECRET_LENGTH, WholeField, about, described_as

_ITEM_ID: dict[str, Any] = {
    "required": True,
    "metadata": {"allOf": [described_as("ItemId")]},
}


class AnswerSchema(Schema):
    """An answer.

    A reader must pass over fields it does not know: later versions may add some.
    """

    class Meta:
        """Options of marshmallow."""

        unknown = EXCLUDE


class OutputSchema(AnswerSchema):
    """An output object of a mint's answer (contract 2.2)."""

    amount = WholeField(required=True)
    secret = fields.String(required=True, metadata=SECRET_LENGTH)
    itemId = fields.String(attribute="item_id", **_ITEM_ID)


class MintResponseSchema(AnswerSchema):
    """The answer to a mint (contract 4.1)."""

    itemId = fields.String(attribute="item_id", **_ITEM_ID)
    outputs = fields.List(
        fields.Nested(OutputSchema), **about("The outputs in the order of the request.")
    )
    rawOutputs = fields.Function(
        lambda minted: [str(raw) for raw in minted.outputs],
        **about(
            "The same outputs as strings, ready to be swapped.",
            type="array",
            items=described_as("RawOutput"),
        ),
    )


class SwapResponseSchema(AnswerSchema):
    """The answer to a swap that was made (contract 4.2)."""

    success = fields.Function(
        lambda _: True, required=True, metadata={"type": "boolean", "enum": [True]}
    )


class CheckResponseSchema(AnswerSchema):
    """The state of each output, in the order of the request (contract part 2)."""

    states = fields.List(
        fields.Enum(OutputState, by_value=fields.String),
        **about(
            "One for each output of the request, in its order. Unknown: no output has "
            "ever had this item, amount and secret."
        ),
    )


class FoundOutputSchema(AnswerSchema):
    """An output that somebody has asked for who knows its secret."""

    amount = WholeField(required=True)
    state = fields.Enum(
        OutputState, by_value=fields.String, **about("Unspent or spent.")
    )


class FindResponseSchema(AnswerSchema):
    """What is recorded under each secret, in the order of the request (part 4)."""

    outputs = fields.List(
        fields.Nested(FoundOutputSchema, allow_none=True),
        **about("One for each secret: null where the item never had it."),
    )


class ItemSchema(AnswerSchema):
    """A registry item (contract 2.4)."""

    id = fields.String(**_ITEM_ID)
    total = WholeField(**about("All units of the item, in whosever hands."))
    metadata = fields.String(
        allow_none=True,
        **about(
            "The metadata of the mint as compact JSON text, or null where it had none. "
            "Anybody may have written it: treat it as text, never as HTML."
        ),
    )


class UnitsSchema(AnswerSchema):
    """Units of an item, in an offer."""

    itemId = fields.String(attribute="item_id", **_ITEM_ID)
    amount = WholeField(required=True)


class OfferSchema(AnswerSchema):
    """An offer, as anybody may read it (contract part 3)."""

    offerId = fields.String(
        attribute="id",
        required=True,
        metadata={"allOf": [described_as("OfferId")]},
    )
    state = fields.Enum(
        OfferState,
        by_value=fields.String,
        **about(
            "Only an open one can be completed. Void: an input was spent otherwise or "
            "a new secret used, as its maker withdraws one.",
        ),
    )
    gives = fields.List(fields.Nested(UnitsSchema), **about("What the completer gets."))
    wants = fields.List(fields.Nested(UnitsSchema), **about("What the completer pays."))
    expiresAt = fields.Function(
        lambda offer: f"{offer.expires_at:%Y-%m-%dT%H:%M:%SZ}",
        **about(
            "In UTC, in whole seconds.",
            type="string",
            format="date-time",
            pattern="Z$",
        ),
    )
