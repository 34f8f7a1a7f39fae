"""The bodies of all answers (contract 2 and 4) and of problems (RFC 9457)."""

from marshmallow import EXCLUDE, Schema, fields

from deeds.domain.model import OfferState, OutputState
from deeds.domain.raw_output import check_secret
from schemas.requests import TextField, WholeField, about


class ItemIdField(fields.String):
    """The id of an item."""


class RawOutputTextsField(fields.Function):
    """Raw outputs as strings."""


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
    secret = TextField(check_secret, required=True)
    itemId = ItemIdField(attribute="item_id", required=True)


class MintResponseSchema(AnswerSchema):
    """The answer to a mint (contract 4.1)."""

    itemId = ItemIdField(attribute="item_id", required=True)
    outputs = fields.List(
        fields.Nested(OutputSchema), **about("The outputs in the order of the request.")
    )
    rawOutputs = RawOutputTextsField(
        lambda minted: [str(raw) for raw in minted.outputs],
        **about("The same outputs as strings, ready to be swapped."),
    )


class SwapResponseSchema(AnswerSchema):
    """The answer to a swap that was made (contract 4.2)."""

    success = fields.Constant(True, required=True, metadata={"type": "boolean"})


class CheckResponseSchema(AnswerSchema):
    """The state of each output, in the order of the request (contract part 2)."""

    states = fields.List(
        fields.Enum(OutputState, by_value=True, metadata={"type": "string"}),
        **about(
            "One for each output of the request, in its order. Unknown: no output has ever had "
            "this item, amount and secret."
        ),
    )


class ItemSchema(AnswerSchema):
    """A registry item (contract 2.4)."""

    id = ItemIdField(required=True)
    total = WholeField(**about("All units of the item, in whosever hands."))
    metadata = fields.String(
        allow_none=True,
        **about(
            "The metadata of the mint as compact JSON text, or null where the mint had none. "
            "Anybody may have written it: treat it as text, never as HTML."
        ),
    )


class UnitsSchema(AnswerSchema):
    """Units of an item, in an offer."""

    itemId = ItemIdField(attribute="item_id", required=True)
    amount = WholeField(required=True)


class OfferIdField(fields.String):
    """The id of an offer."""


class OfferSchema(AnswerSchema):
    """An offer, as anybody may read it (contract part 3)."""

    offerId = OfferIdField(attribute="id", required=True)
    state = fields.Enum(
        OfferState,
        by_value=True,
        **about(
            "Only an open one can be completed. Void: an input was spent otherwise or a new secret "
            "used, as its maker withdraws one.",
            type="string",
        ),
    )
    gives = fields.List(fields.Nested(UnitsSchema), **about("What the completer gets."))
    wants = fields.List(fields.Nested(UnitsSchema), **about("What the completer pays."))
    expiresAt = fields.DateTime(
        "%Y-%m-%dT%H:%M:%SZ",
        attribute="expires_at",
        **about("In UTC, in whole seconds."),
    )


class LimitsSchema(AnswerSchema):
    """What a request may hold at most."""

    amountMax = fields.Integer(**about("Units of an output, and of an item in all."))
    secretLengthMax = fields.Integer(**about("Unicode code points of a secret."))
    arrayLengthMax = fields.Integer(**about("Elements of inputs and of outputs."))
    bodyBytesMax = fields.Integer(**about("Bytes of a request's body."))
    offerExpiresInMin = fields.Integer(
        **about("Seconds for which an offer is open, at least.")
    )
    offerExpiresInMax = fields.Integer(
        **about("Seconds for which an offer is open, at most.")
    )


class HashPolicySchema(AnswerSchema):
    """How the secrets of one class are hashed in new outputs."""

    name = fields.String(**about("The class of secrets: ordinary or strong."))
    algorithm = fields.String(required=True)
    parameters = fields.String(
        **about("m: memory in KiB, t: passes over it, p: lanes (RFC 9106).")
    )
    peppered = fields.Boolean(
        **about("Whether a key that is not in the database goes into the hash.")
    )


class InfoSchema(AnswerSchema):
    """What this service is and keeps (contract part 2)."""

    version = fields.String(**about("Of the software."))
    interfaceVersion = fields.String(**about("Of this interface."))
    limits = fields.Nested(LimitsSchema, required=True)
    hashPolicies = fields.List(fields.Nested(HashPolicySchema), required=True)
    idempotency = fields.Boolean(**about("Whether Idempotency-Key is honoured."))


class ProblemSchema(AnswerSchema):
    """A problem.

    `index` is there where one element of an array is at fault (contract part 2).
    """

    type = fields.String(
        **about("Where the problem is described.", format="uri-reference")
    )
    title = fields.String(**about("The kind of problem."))
    status = fields.Integer(**about("The HTTP status again."))
    detail = fields.String(
        **about("What is wrong this time. Never holds a value of the request.")
    )
    code = fields.String(**about("A stable name to decide on in programs."))
    index = fields.Integer(
        **about(
            "The element of inputs or outputs at fault, from 0.",
            required=False,
            minimum=0,
        )
    )
