"""Base of the answers' schemas."""

from marshmallow import EXCLUDE, Schema


class AnswerSchema(Schema):
    """An answer. A reader must pass over fields it does not know: later versions may add some."""

    class Meta:
        """Options of marshmallow."""

        unknown = EXCLUDE
