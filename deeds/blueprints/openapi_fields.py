"""What each field of the schemas is in JSON Schema: teaches apispec the types of the contract."""

from typing import Any

from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import fields

from deeds.domain.model import AMOUNT_MAX, SECRET_LENGTH_MAX
from schemas.fields import (
    AmountField,
    BoundedList,
    ItemIdField,
    RawOutputField,
    RawOutputTextsField,
    SecretField,
    TextField,
    array_length_max,
)
from schemas.image import ImageField
from schemas.mint import NewOutputSchema, NewOutputsField

Schema = dict[str, Any]

ITEM_ID_PATTERN = "^deed_[0-9a-hjkmnp-tv-z]{26}$"


def _whole_numbers(most: int) -> str:
    """Return a pattern of the whole numbers from 1 to `most`, as the amounts of raw outputs."""
    digits = str(most)
    forms = [f"[1-9][0-9]{{0,{len(digits) - 2}}}"]  # Those with fewer digits,
    for index, digit in enumerate(digits):  # those that are less from this digit on,
        lowest = 1 if index == 0 else 0
        if int(digit) > lowest:
            rest = f"[0-9]{{{len(digits) - index - 1}}}"
            forms.append(f"{digits[:index]}[{lowest}-{int(digit) - 1}]{rest}")
    return "|".join([*forms, digits])  # and the greatest.


# In a request any id may follow the prefix: one that no item can have is just unknown.
_AMOUNT = rf"^\+(?:{_whole_numbers(AMOUNT_MAX)})\."
_SECRET = rf"[\s\S]{{1,{SECRET_LENGTH_MAX}}}$"
_RAW_OUTPUT = {
    "type": "string",
    "pattern": rf"{_AMOUNT}deed_[^.]*\.{_SECRET}",
    "description": f"+amount.itemId.secret, with an amount of at most {AMOUNT_MAX}.",
}
_MINT_OUTPUT = {
    "type": "string",
    "pattern": rf"{_AMOUNT}(?:(?:deed_[^.]*)?\.)?{_SECRET}",
    "description": f"+amount.secret, with an amount of at most {AMOUNT_MAX}. An item id between "
    "the two may be empty, or start with deed_ and is passed over: the item does not exist yet.",
}

_TYPES: dict[type[fields.Field[Any]], Schema] = {
    AmountField: {"type": "integer", "minimum": 1, "maximum": AMOUNT_MAX},
    ImageField: {"type": "string", "format": "uri"},
    ItemIdField: {"type": "string", "pattern": ITEM_ID_PATTERN},
    RawOutputField: _RAW_OUTPUT,
    RawOutputTextsField: {"type": "array", "items": _RAW_OUTPUT},
    SecretField: {"type": "string", "minLength": 1, "maxLength": SECRET_LENGTH_MAX},
    TextField: {"type": "string"},
}


def describe_fields(plugin: MarshmallowPlugin) -> None:
    """Make a plugin that belongs to a document describe the fields of our schemas."""
    converter: Any = plugin.converter  # Any: apispec types it in part only.
    for describe in (_describe_type, _describe_constant, _describe_array, _describe_new_outputs):
        converter.add_attribute_function(describe)


def _describe_type(_: Any, field: fields.Field[Any], **_rest: Any) -> Schema:
    return _TYPES.get(type(field), {})


def _describe_constant(_: Any, field: fields.Field[Any], **_rest: Any) -> Schema:
    return {"const": field.constant} if isinstance(field, fields.Constant) else {}


def _describe_array(_: Any, field: fields.Field[Any], **_rest: Any) -> Schema:
    return _bounds(field) if isinstance(field, BoundedList) else {}


def _describe_new_outputs(converter: Any, field: fields.Field[Any], **_rest: Any) -> Schema:
    if not isinstance(field, NewOutputsField):
        return {}
    strings = {"type": "array", "title": "strings", "items": _MINT_OUTPUT, "uniqueItems": True}
    objects = {
        "type": "array",
        "title": "objects",
        "items": converter.resolve_nested_schema(NewOutputSchema),
        "uniqueItems": True,
    }
    return {"oneOf": [strings | _bounds(field), objects | _bounds(field)]}


def _bounds(field: fields.Field[Any]) -> Schema:
    return {"minItems": 1, "maxItems": array_length_max(field)}
