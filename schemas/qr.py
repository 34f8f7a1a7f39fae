"""Request of POST /web/qr: what a QR code is to say."""

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, post_load

from deeds.domain.model import QR_TEXT_LENGTH_MAX, QrRequest
from schemas.fields import TextField


class QrTextField(TextField):
    """A text that may be put into a QR code."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not 1 <= len(text) <= QR_TEXT_LENGTH_MAX:
            raise ValidationError(f"must have 1 to {QR_TEXT_LENGTH_MAX} characters")
        return text


class QrRequestSchema(Schema):
    """The body of a request for a QR code."""

    text = QrTextField(required=True)

    @post_load
    def _make(self, data: dict[str, str], **_kwargs: Any) -> QrRequest:
        return QrRequest(data["text"])
