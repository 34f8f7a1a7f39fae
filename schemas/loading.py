"""Loads JSON data through a schema and says in one sentence what is wrong with it."""

import re
from collections.abc import Iterator
from typing import Any

from marshmallow import Schema, ValidationError

from deeds.domain.errors import InvalidRequestError

# A key of the contract has at most 11 letters. What looks like a misspelt one is named; anything
# else may be a secret that slipped into the wrong place.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,23}")

_MESSAGES = {
    "Unknown field.": "is not a field of this request",
    "Missing data for required field.": "is required",
    "Field may not be null.": "must not be null",
    "Invalid input type.": "must be an object",
}


def load(schema: Schema, data: Any) -> Any:
    """Return what the schema makes of the data.

    Raises:
        InvalidRequestError: the data has another shape. The detail names the first field at fault
            and `index` the element of the array, never the value.
    """
    try:
        return schema.load(data)
    except ValidationError as error:
        path, message = next(_leaves(error.messages, ()))
        where = "".join(_step(step) for step in path).lstrip(".")
        detail = f"{where or 'the body'}: {_MESSAGES.get(message, message)}"
        index = next((step for step in path if isinstance(step, int)), None)
        raise InvalidRequestError(detail, index=index) from None


def _leaves(
    messages: Any, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(messages, dict):
        for key, below in messages.items():
            yield from _leaves(below, path if key == "_schema" else (*path, key))
    elif isinstance(messages, list):
        for each in messages:
            yield from _leaves(each, path)
    else:
        yield path, str(messages)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _NAME.fullmatch(step) else ".(an unknown key)"
