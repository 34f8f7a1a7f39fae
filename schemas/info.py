"""Answer of GET /v1/info (contract part 2)."""

from marshmallow import fields

from schemas.answer import AnswerSchema


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
