"""Fields of bodies, and what the OpenAPI document says of them.

JSON is taken as it is: no text turns into a number here.
"""

from collections.abc import Callable
from typing import Any

from marshmallow import ValidationError, fields
from marshmallow.validate import Range

from deeds.domain.errors import RawOutputError
from deeds.domain.model import AMOUNT_MAX, SECRET_LENGTH_MAX

# What the OpenAPI document says of a secret.
SECRET_LENGTH: dict[str, Any] = {"minLength": 1, "maxLength": SECRET_LENGTH_MAX}


def about(description: str, *, required: bool = True, **schema: Any) -> dict[str, Any]:
    """Return the arguments of a field: what the OpenAPI document says of it."""
    return {"required": required, "metadata": {"description": description, **schema}}


def described_as(name: str) -> dict[str, str]:
    """Return a reference to a schema of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


class WholeField(fields.Integer):
    """A JSON integer, from 1 to AMOUNT_MAX unless given other bounds.

    Not `1.0`, "1" or true.
    """

    def __init__(
        self, smallest: int = 1, largest: int = AMOUNT_MAX, **kwargs: Any
    ) -> None:
        demand = f"must be a JSON integer from {smallest} to {largest}"
        super().__init__(
            strict=True,
            validate=Range(smallest, largest, error=demand),
            error_messages={"invalid": demand},
            **kwargs,
        )


class TextField(fields.String):
    """A JSON string, made into what `parse` returns for it."""

    def __init__(self, parse: Callable[[str], Any], **kwargs: Any) -> None:
        """Create a field.

        `parse` raises RawOutputError or ValidationError for an invalid text.
        """
        super().__init__(**kwargs)
        self.parse = parse

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, *args, **kwargs)
        try:
            return self.parse(text)
        except RawOutputError as error:
            raise ValidationError(str(error)) from None


class ArrayField(fields.List[Any]):
    """An array, whose length is checked before any element is parsed."""

    length_max: int  # Set by the schema.

    def __init__(
        self, element: fields.Field[Any], length_min: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(element, **kwargs)
        self.length_min = length_min

    def check(self, value: Any) -> None:
        """Raise ValidationError unless the value is an array of a good length."""
        if not isinstance(value, list):
            raise ValidationError("must be an array")
        if not self.length_min <= len(value) <= self.length_max:
            raise ValidationError(
                f"must have {self.length_min} to {self.length_max} elements"
            )

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        self.check(value)
        return tuple(super()._deserialize(value, *args, **kwargs))
