"""The error body: RFC 9457 with a stable code (contract part 2)."""

from marshmallow import fields

from schemas.answer import AnswerSchema


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
