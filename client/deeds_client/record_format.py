"""Reads and writes all records as JSON.

Field names are those of the web page (docs/wallet-file.md). Input is parsed into the
types of records.py and values.py. Invalid input raises InvalidInputError.
"""

import json
import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, get_args, get_type_hints

from deeds_client.errors import InvalidInputError
from deeds_client.records import (
    ABSENT,
    NUMBER_MAX,
    SEEDS_MAX,
    Contents,
    Number,
    Numbers,
    Operation,
    R,
    Seed,
    keys_of,
    made_by,
    milliseconds,
    moment,
    named_by,
)
from deeds_client.values import (
    Item,
    Kind,
    OperationState,
    Output,
    OutputState,
    Secret,
    exactly,
    member,
    mint_body,
    parse_amount,
    swap_body,
)


def compact(value: Any) -> str:
    """Return compact JSON, formatted as by JavaScript's JSON.stringify.

    Raise InvalidInputError for values that JSON or UTF-8 cannot represent.
    """
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        text.encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidInputError("A text or a number in this is not valid.") from None
    return text


def read_contents(document: Any) -> Contents:
    """Parse the records of a file. Raise InvalidInputError if one is invalid."""
    compact(document)
    parsed = {
        name: [read(kind, entry) for entry in member(document, name, list)]
        for name, kind in KINDS.items()
    }
    service = document.get("service")
    contents = Contents(**parsed, service=service if isinstance(service, str) else None)
    for output, entry in zip(contents.outputs, document["outputs"], strict=True):
        if output.created_at is None or "state" not in entry:
            raise InvalidInputError("An output has no time or no state.")
    keys = {output.key for output in contents.outputs}
    entries = document["operations"]
    for operation, entry in zip(contents.operations, entries, strict=True):
        _check_request(operation, entry)
        if not keys.issuperset(named_by(operation)):
            raise InvalidInputError("An operation names an output that is not there.")
    _check_seeds(contents)
    return contents


def _check_request(operation: Operation, document: dict[str, Any]) -> None:
    """Check that a request body has exactly the operation's inputs and outputs.

    Amounts are not compared with those of the output records: a link's amount may have
    been corrected since.
    """
    body = operation.body.reveal()
    inputs, outputs = operation.inputs, operation.outputs
    if operation.kind == Kind.MINT:
        body = {"metadata": {}, **body}
        expected = {**mint_body(outputs), "metadata": member(body, "metadata", dict)}
    else:
        body = {"expiresIn": 1, **body}
        expected = swap_body(inputs, outputs, parse_amount(body["expiresIn"]))
    ends = [member(entry, "key", str) for entry in member(document, "outputs", list)]
    if not outputs and operation.kind != Kind.COMPLETE:
        raise InvalidInputError("An operation makes nothing.")
    actual = (body, document.get("inputs"), ends)
    if actual != (expected, keys_of(inputs), made_by(operation)):
        raise InvalidInputError("An operation sends something else than it says.")


def _check_seeds(contents: Contents) -> None:
    """Check that one seed is marked as own, and that all numbers belong to a seed.

    A file without seeds has no own seed and no numbers.
    """
    keys = {seed.key for seed in contents.seeds}
    own_count = sum(seed.is_own for seed in contents.seeds)
    if len(contents.seeds) > SEEDS_MAX or own_count != min(len(keys), 1):
        raise InvalidInputError("A wallet has one seed of its own.")
    if any(numbers.seed not in keys for numbers in contents.numbers):
        raise InvalidInputError("Numbers belong to an unknown seed.")


def write_contents(contents: Contents) -> dict[str, Any]:
    """Return a wallet's records as the JSON object of a file."""
    document: dict[str, Any] = {
        name: [write(record) for record in getattr(contents, name)] for name in KINDS
    }
    if contents.service:
        document["service"] = contents.service
    return document


def read(kind: type[R], document: Any, **fields: Any) -> R:
    """Parse a record; `fields` are those that its JSON does not have.

    Raise InvalidInputError if the record is invalid.
    """
    plan = _PLANS[kind]
    more = {}
    for name, value in exactly(dict, document).items():
        if name in plan:
            attribute, parse = plan[name]
            fields[attribute] = parse(value)
        elif name not in _IMPLIED:
            more[name] = value
    if more:
        fields["more"] = Secret(more)
    try:
        record = kind(**fields)
    except TypeError:
        raise InvalidInputError("A record is not whole.") from None
    if record.key != document.get("key"):  # type: ignore[attr-defined]
        raise InvalidInputError("A record has another key.")
    return record


def write(record: Any) -> dict[str, Any]:
    """Return a record as a JSON object, without empty fields."""
    document: dict[str, Any] = {"key": record.key}
    for name, (attribute, _) in _PLANS[type(record)].items():
        value = getattr(record, attribute)
        if value not in ABSENT:
            document[name] = _to_json(value)
    if isinstance(record, Output) and record.state != OutputState.LEAVING:
        del document["before"]
    if isinstance(record, Operation):
        document["inputs"] = keys_of(record.inputs)
        document["outputs"] = [
            {"key": key, "state": state.value}
            for key, state in zip(made_by(record), record.ends, strict=False)
        ]
    if record.more:
        document |= record.more.reveal()
    return document


def _to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return milliseconds(value)
    return value.reveal() if isinstance(value, Secret) else value


def _plan(kind: type[Any]) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """Return each attribute and its parser, by the JSON name."""
    plan = {}
    for attribute, hint in get_type_hints(kind).items():
        parts = get_args(hint)
        type_ = parts[0] if type(None) in parts else hint
        if type_ in _PARSERS and attribute != "more":
            name = re.sub("_(.)", lambda match: match[1].upper(), attribute)
            plan[name] = (attribute, _PARSERS[type_])
    return plan


def _number(value: Any) -> int:
    number = exactly(int, value)
    if number not in range(NUMBER_MAX + 1):
        raise InvalidInputError("A number is not valid.")
    return number


def _places(value: Any) -> tuple[int, ...]:
    return tuple(map(_number, exactly(list, value)))


def _ends(value: Any) -> tuple[OutputState, ...]:
    states = [member(output, "state", OutputState) for output in exactly(list, value)]
    if not {OutputState.HELD, OutputState.GIVEN}.issuperset(states):
        raise InvalidInputError("An operation makes held or given outputs.")
    return tuple(states)


def _metadata(value: Any) -> str | None:
    return None if value is None else exactly(str, value)  # Null if the mint had none.


_PARSERS: dict[Any, Callable[[Any], Any]] = {
    int: parse_amount,
    datetime: moment,
    Number: _number,
    Secret[str]: lambda value: Secret(exactly(str, value)),
    Secret[dict[str, Any]]: lambda value: Secret(exactly(dict, value)),
    tuple[int, ...]: _places,
    **{
        kind: partial(exactly, kind)
        for kind in (bool, str, Kind, OperationState, OutputState)
    },
}
# In the order of a file.
KINDS: dict[str, type[Any]] = {
    "outputs": Output,
    "operations": Operation,
    "items": Item,
    "seeds": Seed,
    "numbers": Numbers,
}
_PLANS = {kind: _plan(kind) for kind in KINDS.values()}
_PLANS[Operation]["outputs"] = ("ends", _ends)
_PLANS[Item]["metadata"] = ("metadata", _metadata)
# These follow from other fields of a record.
_IMPLIED = ("key", "inputs")
