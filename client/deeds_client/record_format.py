"""The one place where records are read and written as JSON.

Names are those of the page: docs/wallet-file.md. Whatever is read is parsed into the
types of records.py, and raises InvalidInputError where it does not fit.
"""

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from datetime import datetime
from functools import partial
from typing import Any, get_args, get_type_hints

from deeds_client.errors import InvalidInputError
from deeds_client.records import (
    ABSENT,
    NUMBER_MAX,
    SEEDS_MAX,
    Number,
    Numbers,
    Operation,
    R,
    Records,
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
    check_amount,
    exactly,
    member,
    parse_state,
)


def compact(value: Any) -> str:
    """Return JSON as JavaScript writes it.

    Raise InvalidInputError for what has no form in JSON or UTF-8.
    """
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        text.encode()
    except (ValueError, RecursionError):
        raise InvalidInputError("A text or a number in this is not valid.") from None
    return text


def read_records(found: Any) -> Records:
    """Return what a file holds. Raise InvalidInputError where it does not fit."""
    compact(found)
    parsed = {
        name: [read(kind, each) for each in member(found, name, list)]
        for name, kind in KINDS.items()
    }
    service = found.get("service")
    records = Records(**parsed, service=service if isinstance(service, str) else None)
    for output, each in zip(records.outputs, found["outputs"], strict=True):
        if output.created_at is None or "state" not in each:
            raise InvalidInputError("An output has no time or no state.")
    known = {output.key for output in records.outputs}
    for operation in records.operations:
        if not known.issuperset(named_by(operation)):
            raise InvalidInputError("An operation names an output that is not there.")
    _check_seeds(records)
    return records


def _check_seeds(records: Records) -> None:
    """Check that one seed is the own one, and numbers are of some.

    A file of a wallet without seeds has neither.
    """
    keys = {seed.key for seed in records.seeds}
    own_count = sum(seed.is_own for seed in records.seeds)
    if len(records.seeds) > SEEDS_MAX or own_count != min(len(keys), 1):
        raise InvalidInputError("A wallet has one seed of its own.")
    if any(each.seed not in keys for each in records.numbers):
        raise InvalidInputError("Numbers are of no seed.")


def write_records(records: Records) -> dict[str, Any]:
    """Return what a file holds of all that a wallet knows."""
    found: dict[str, Any] = {
        name: [write(each) for each in getattr(records, name)] for name in KINDS
    }
    if records.service:
        found["service"] = records.service
    return found


def read(kind: type[R], found: Any) -> R:
    """Parse a record. Raise InvalidInputError where it does not fit."""
    key = member(found, "key", str)
    rest = {**found}
    values = _take_request(rest) if kind is Operation else {}
    if rest.get("metadata") is None:
        # The registry's null.
        rest.pop("metadata", None)
    for name, (attribute, parse) in _PLANS[kind].items():
        if name in rest:
            values[attribute] = parse(rest.pop(name))
    rest.pop("key", None)
    if rest:
        values["more"] = Secret(rest)
    if not values.keys() >= _NEEDED[kind]:
        raise InvalidInputError("A record is not whole.")
    record = kind(**values)
    if record.key != key:  # type: ignore[attr-defined]
        raise InvalidInputError("A record has another key.")
    if isinstance(record, Operation):
        _check_request(record, found)
    return record


def write(record: Any) -> dict[str, Any]:
    """Return a record as JSON has it; what has no value is absent."""
    found: dict[str, Any] = {"key": record.key}
    for name, (attribute, _) in _PLANS[type(record)].items():
        value = getattr(record, attribute)
        if value not in ABSENT:
            found[name] = _written(value)
    if isinstance(record, Output) and record.state != OutputState.LEAVING:
        del found["before"]
    if isinstance(record, Operation):
        made = made_by(record)
        found |= {"body": record.body, "inputs": keys_of(record.inputs)}
        found["outputs"] = [
            {"key": key, "state": each.state.value}
            for key, each in zip(made, record.outputs, strict=False)
        ]
    if record.more:
        found |= record.more.reveal()
    return found


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return milliseconds(value)
    return value.reveal() if isinstance(value, Secret) else value


def _take_request(found: dict[str, Any]) -> dict[str, Any]:
    """Take the request out of an operation's record, and return it parsed."""
    body, ends = found.pop("body", None), member(found, "outputs", list)
    made = member(body, "outputs", list)
    if found.get("kind") == Kind.MINT:
        item_id, inputs = found.get("itemId", "deed_"), []
        outputs = [
            Output(
                member(each, "amount", int),
                item_id,
                Secret(member(each, "secret", str)),
            )
            for each in made
        ]
    else:
        inputs = list(map(Output.parse, member(body, "inputs", list)))
        outputs = list(map(Output.parse, made))
    if ends:
        states = [parse_state(OutputState, member(each, "state", str)) for each in ends]
        outputs = [
            replace(each, state=state)
            for each, state in zip(outputs, states, strict=False)
        ]
    for name in ("inputs", "outputs"):
        found.pop(name, None)
    request: dict[str, Any] = {"inputs": tuple(inputs), "outputs": tuple(outputs)}
    if "metadata" in body:
        request["metadata"] = member(body, "metadata", dict)
    if "expiresIn" in body:
        request["expires_in"] = check_amount(body["expiresIn"])
    return request


def _check_request(operation: Operation, found: dict[str, Any]) -> None:
    """Check that what is sent is what is settled.

    The amount of a link may have been put right since.
    """
    ends = [member(each, "key", str) for each in found["outputs"]]
    sent = (operation.body, keys_of(operation.inputs), made_by(operation))
    if sent != (found["body"], found.get("inputs"), ends):
        raise InvalidInputError("An operation sends something else than it says.")


def _plan(kind: type[Any]) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """Return by its name in JSON each attribute and what parses it."""
    plan = {}
    for attribute, hint in get_type_hints(kind).items():
        parts = get_args(hint)
        type_ = parts[0] if type(None) in parts else hint
        if type_ in _PARSERS:
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


_PARSERS: dict[Any, Callable[[Any], Any]] = {
    int: check_amount,
    bool: partial(exactly, bool),
    str: partial(exactly, str),
    datetime: moment,
    Number: _number,
    Secret[str]: lambda value: Secret(exactly(str, value)),
    tuple[int, ...]: _places,
    **{
        kind: partial(parse_state, kind) for kind in (Kind, OperationState, OutputState)
    },
}
# In the order in which a file has them.
KINDS: dict[str, type[Any]] = {
    "outputs": Output,
    "operations": Operation,
    "items": Item,
    "seeds": Seed,
    "numbers": Numbers,
}
_PLANS = {kind: _plan(kind) for kind in KINDS.values()}
_NEEDED = {
    kind: {each.name for each in fields(kind) if each.default is MISSING}
    for kind in KINDS.values()
}
