"""The bodies of all answers (contract 2 and 4) and of problems (RFC 9457)."""

from marshmallow import EXCLUDE, Schema, fields

from deeds.domain.model import OutputState
from schemas.fields import AmountField, ItemIdField, RawOutputTextsField, SecretField


class AnswerSchema(Schema):
    """An answer. A reader must pass over fields it does not know: later versions may add some."""

    class Meta:
        """Options of marshmallow."""

        unknown = EXCLUDE


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


class SwapResponseSchema(AnswerSchema):
    """The answer to a swap that was made."""

    success = fields.Constant(True, required=True, metadata={"type": "boolean"})


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


class LimitsSchema(AnswerSchema):
    """What a request may hold at most."""

    amountMax = fields.Integer(  # noqa: N815 - the contract's way of naming
        attribute="amount_max",
        required=True,
        metadata={"description": "Units of an output, and of an item in all."},
    )
    secretLengthMax = fields.Integer(  # noqa: N815
        attribute="secret_length_max",
        required=True,
        metadata={"description": "Unicode code points of a secret."},
    )
    arrayLengthMax = fields.Integer(  # noqa: N815
        attribute="array_length_max",
        required=True,
        metadata={"description": "Elements of inputs and of outputs."},
    )
    bodyBytesMax = fields.Integer(  # noqa: N815
        attribute="body_bytes_max",
        required=True,
        metadata={"description": "Bytes of a request's body."},
    )


class HashPolicySchema(AnswerSchema):
    """How the secrets of one class are hashed in new outputs."""

    name = fields.String(
        required=True, metadata={"description": "The class of secrets: ordinary or strong."}
    )
    algorithm = fields.String(required=True)
    parameters = fields.String(
        required=True,
        metadata={"description": "m: memory in KiB, t: passes over it, p: lanes (RFC 9106)."},
    )
    peppered = fields.Boolean(
        required=True,
        metadata={"description": "Whether a key that is not in the database goes into the hash."},
    )


class InfoSchema(AnswerSchema):
    """What this service is and keeps."""

    version = fields.String(required=True, metadata={"description": "Of the software."})
    interfaceVersion = fields.String(  # noqa: N815
        attribute="interface_version",
        required=True,
        metadata={"description": "Of this interface."},
    )
    limits = fields.Nested(LimitsSchema, required=True)
    hashPolicies = fields.List(  # noqa: N815
        fields.Nested(HashPolicySchema), attribute="hash_policies", required=True
    )
    idempotency = fields.Boolean(
        required=True, metadata={"description": "Whether Idempotency-Key is honoured."}
    )


class ProblemSchema(AnswerSchema):
    """A problem. `index` is there where one element of an array is at fault."""

    type = fields.String(
        required=True,
        metadata={"format": "uri-reference", "description": "Where the problem is described."},
    )
    title = fields.String(required=True, metadata={"description": "The kind of problem."})
    status = fields.Integer(required=True, metadata={"description": "The HTTP status again."})
    detail = fields.String(
        required=True,
        metadata={"description": "What is wrong this time. Never holds a value of the request."},
    )
    code = fields.String(
        required=True, metadata={"description": "A stable name to decide on in programs."}
    )
    index = fields.Integer(
        metadata={
            "minimum": 0,
            "description": "The element of inputs or outputs that is at fault, from 0.",
        }
    )
