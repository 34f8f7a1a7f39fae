"""The SQL of an audit. Each statement returns rows that break an invariant, and else none.

The database sorts, on disk where it must; what comes back is bounded by what is broken. A range
keeps each sort short: items after one id up to another one, or operations.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    and_,
    case,
    func,
    literal,
    not_,
    or_,
    select,
    union_all,
)

from deeds.domain.model import AMOUNT_MAX, OperationKind, SecretClass
from storage.tables import hash_schemes, item_schemes, items, operations, outputs

_DIGEST_BYTES = 32
_SALT_BYTES = 16

# Sums are made of two halves: no sum of 64-bit numbers, however wrong, overflows.
_HALF = 1 << 32


# What is summed for each operation: what items and outputs say of it, and what it says itself.
_SUMS = ("outputs", "inputs", "items", "mints", "kinds", "known", "outputs_said", "inputs_said")


@dataclass(frozen=True, slots=True)
class Range:
    """The ids after one, up to and with another one; None where there is no such bound."""

    after: Any
    last: Any

    def holds(self, column: Column[Any]) -> ColumnElement[bool]:
        """Return the condition that the column is within the range."""
        bounds = [column > self.after] if self.after is not None else []
        bounds += [column <= self.last] if self.last is not None else []
        return and_(column.is_not(None), *bounds)


def item_sums(within: Range) -> Select[Any]:
    """Items whose live outputs sum to something else than the total, or that do not exist."""
    rows = union_all(
        select(
            outputs.c.item_id.label("item_id"),
            case((outputs.c.spent_by.is_(None), outputs.c.amount), else_=0).label("units"),
            literal(0).label("is_item"),
        ).where(within.holds(outputs.c.item_id)),
        select(items.c.id, -items.c.total, literal(1)).where(within.holds(items.c.id)),
    ).subquery()
    exists = func.sum(rows.c.is_item) == 1
    return (
        select(rows.c.item_id, exists.label("exists"), _is_not_zero(rows.c.units).label("differs"))
        .group_by(rows.c.item_id)
        .having(or_(not_(exists), _is_not_zero(rows.c.units)))
    )


def operation_sums(within: Range) -> Select[Any]:
    """Pairs of operation and item whose inputs, or minted total, and outputs differ."""
    created = select(
        outputs.c.created_by.label("operation_id"),
        outputs.c.item_id.label("item_id"),
        outputs.c.amount.label("units"),
    )
    spent = select(outputs.c.spent_by, outputs.c.item_id, -outputs.c.amount)
    minted = select(items.c.created_by, items.c.id, -items.c.total)
    rows = union_all(
        created.where(within.holds(outputs.c.item_id)),
        spent.where(within.holds(outputs.c.item_id), outputs.c.spent_by.is_not(None)),
        minted.where(within.holds(items.c.id)),
    ).subquery()
    return (
        select(rows.c.operation_id, rows.c.item_id)
        .group_by(rows.c.item_id, rows.c.operation_id)
        .having(_is_not_zero(rows.c.units))
    )


def odd_outputs(within: Range, dialect_name: str) -> Select[Any]:
    """Outputs that are odd by themselves, each with the reasons."""
    in_range: ColumnElement[bool] = outputs.c.amount.between(1, AMOUNT_MAX)
    if dialect_name == "sqlite":
        # Any column of SQLite may hold any type.
        in_range = and_(in_range, func.typeof(outputs.c.amount) == "integer")
    has_form = and_(in_range, func.length(outputs.c.digest) == _DIGEST_BYTES)
    has_scheme = outputs.c.scheme_id.in_(select(hash_schemes.c.id))
    has_order = or_(outputs.c.spent_by.is_(None), outputs.c.spent_by > outputs.c.created_by)
    return select(
        outputs.c.item_id,
        outputs.c.created_by,
        has_form.label("has_form"),
        has_scheme.label("has_scheme"),
        has_order.label("has_order"),
    ).where(within.holds(outputs.c.item_id), not_(and_(has_form, has_scheme, has_order)))


def odd_item_schemes(within: Range) -> Select[Any]:
    """Pairs of item and scheme that occur in outputs alone, or are only said to."""
    rows = union_all(
        select(
            outputs.c.item_id.label("item_id"),
            outputs.c.scheme_id.label("scheme_id"),
            literal(1).label("side"),
        )
        .where(within.holds(outputs.c.item_id))
        .distinct(),
        select(item_schemes.c.item_id, item_schemes.c.scheme_id, literal(-1)).where(
            within.holds(item_schemes.c.item_id)
        ),
    ).subquery()
    return (
        select(rows.c.item_id, rows.c.scheme_id)
        .group_by(rows.c.item_id, rows.c.scheme_id)
        .having(func.sum(rows.c.side) != 0)
    )


def repeated_outputs(within: Range) -> Select[Any]:
    """Items in which a digest occurs twice."""
    return (
        select(outputs.c.item_id)
        .where(within.holds(outputs.c.item_id))
        .group_by(outputs.c.item_id, outputs.c.digest)
        .having(func.count() > 1)
    )


def odd_items(within: Range) -> Select[Any]:
    """Items that are odd by themselves."""
    has_form = and_(items.c.total.between(1, AMOUNT_MAX), func.length(items.c.salt) == _SALT_BYTES)
    return select(items.c.id).where(within.holds(items.c.id), not_(has_form))


def odd_operations(within: Range) -> Select[Any]:
    """Operations that are not what items and outputs say of them, with what either side says."""
    one, zero = literal(1), literal(0)
    is_mint = case((operations.c.kind == OperationKind.MINT, 1), else_=0)
    is_swap = case((operations.c.kind == OperationKind.SWAP, 1), else_=0)
    # The names that the columns of all four get.
    nothing = dict.fromkeys(_SUMS, zero)
    created = select(
        outputs.c.created_by.label("id"),
        *(value.label(name) for name, value in (nothing | {"outputs": one}).items()),
    )
    spent = select(outputs.c.spent_by, *(nothing | {"inputs": one}).values())
    made = select(items.c.created_by, *(nothing | {"items": one}).values())
    said = select(
        operations.c.id,
        *(
            nothing
            | {
                "mints": is_mint,
                "kinds": is_mint + is_swap,
                "known": one,
                "outputs_said": operations.c.outputs_count,
                "inputs_said": operations.c.inputs_count,
            }
        ).values(),
    )
    rows = union_all(
        created.where(within.holds(outputs.c.created_by)),
        spent.where(within.holds(outputs.c.spent_by)),
        made.where(within.holds(items.c.created_by)),
        said.where(within.holds(operations.c.id)),
    ).subquery()
    sums = {name: func.sum(rows.c[name]) for name in _SUMS}
    is_known = sums["known"] == 1
    is_counted = and_(
        sums["outputs"] == sums["outputs_said"], sums["inputs"] == sums["inputs_said"]
    )
    is_kind = and_(
        sums["kinds"] == 1,
        sums["items"] == sums["mints"],
        sums["mints"] * sums["inputs"] == 0,
    )
    return (
        select(
            rows.c.id,
            is_known.label("is_known"),
            is_counted.label("is_counted"),
            is_kind.label("is_kind"),
        )
        .group_by(rows.c.id)
        .having(not_(and_(is_known, is_counted, is_kind)))
    )


REPEATED_KEYS = (
    select(func.min(operations.c.id))
    .where(operations.c.idempotency_key_hash.is_not(None))
    .group_by(operations.c.idempotency_key_hash)
    .having(func.count() > 1)
)

ODD_SCHEMES = select(hash_schemes.c.id).where(
    not_(
        and_(
            hash_schemes.c.secret_class.in_([each.value for each in SecretClass]),
            hash_schemes.c.memory_cost_kib > 0,
            hash_schemes.c.time_cost > 0,
            hash_schemes.c.parallelism > 0,
            func.length(hash_schemes.c.key_salt) == _SALT_BYTES,
        )
    )
)


def nth_id_after(column: Column[Any], after: Any, number: int) -> Select[Any]:
    """Return the statement for the id that is so many places after another one, or the first."""
    following = Range(after, None).holds(column)
    return select(column).where(following).order_by(column).offset(number - 1).limit(1)


def _is_not_zero(units: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that the units of a group do not sum to zero."""
    low, high = func.sum(units % _HALF), func.sum(units // _HALF)
    return or_(low % _HALF != 0, high + low // _HALF != 0)
