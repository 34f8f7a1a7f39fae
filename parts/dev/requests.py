"""The bodies of requests to /_dev/."""

from datetime import datetime
from typing import Any

from marshmallow import ValidationError, fields
from marshmallow.validate import OneOf, Regexp

from parts.dev.clock import Move, milliseconds_of
from parts.dev.faults import KINDS, SLOW, SLOW_S, Fault
from schemas.requests import RequestSchema, WholeField

# Practically unlimited, and far below the largest integer.
_COUNT_MAX = 1_000_000
_DELAY_S_MAX = 300
_ADVANCE_S_MAX = 10_000 * 366 * 86_400


def _make_fault(
    left: int, kind: str, path: str | None = None, delay_s: int | None = None
) -> Fault:
    if delay_s is not None and kind != SLOW:
        raise ValidationError(f"only {SLOW} takes seconds", "seconds")
    return Fault(left, kind, path, SLOW_S if delay_s is None else delay_s)


class FaultSchema(RequestSchema):
    """A fault to add, or to withdraw if `next` is 0."""

    makes = staticmethod(_make_fault)

    left = WholeField(0, _COUNT_MAX, data_key="next", required=True)
    kind = fields.String(
        data_key="with",
        required=True,
        validate=OneOf(KINDS, error=f"must be one of {', '.join(KINDS)}"),
    )
    path = fields.String(validate=Regexp("/", error="must be a path, such as /v1/swap"))
    delay_s = WholeField(1, _DELAY_S_MAX, data_key="seconds")


class _TimeField(fields.String):
    """A time with its zone, converted to milliseconds since 1970-01-01 UTC."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, *args, **kwargs)
        try:
            return milliseconds_of(datetime.fromisoformat(text))
        except (ValueError, TypeError):
            # A time without a zone cannot be compared with one that has it.
            raise ValidationError(
                "must be a time with its zone, such as 2027-01-01T00:00:00Z"
            ) from None


def _make_move(advance_s: int | None = None, at_ms: int | None = None) -> Move:
    if (advance_s is None) == (at_ms is None):
        raise ValidationError("must have either advance or at")
    return Move(advance_s, at_ms)


class MoveSchema(RequestSchema):
    """A move of the clock."""

    makes = staticmethod(_make_move)

    advance_s = WholeField(0, _ADVANCE_S_MAX, data_key="advance")
    at_ms = _TimeField(data_key="at")
