"""Breaks of the SQL in storage/statements.py: it is in no function, so mutmut leaves it alone."""

from storage import statements
from tests.serving import REPOSITORY

SOURCE = REPOSITORY / "storage" / "statements.py"
PREFIX = "storage.statements:"

SCHEME_IS_USED = 'where(item_schemes.c.scheme_id == bindparam("scheme_id"))'
SCHEME_GUARDS = 'outputs.c.scheme_id == bindparam("scheme_id"), outputs.c.spent_by.is_(None)'
ITEM = """.where(
    items.c.id == bindparam("item_id")
)"""
GUARDS = '    .where(items.c.id.in_(bindparam("item_ids", expanding=True)))\n'
OPERATION = (
    '    .where(operations.c.idempotency_key_hash.in_(bindparam("key_hashes", expanding=True)))\n'
)
OPERATION_MINTED = "items.c.created_by == operations.c.id"
NEWEST = ".order_by(operations.c.id.desc()).limit(1)"
OPERATION_TIME = """.where(
    operations.c.id == bindparam("operation_id")
)"""
COUNTED = '    .where(item_schemes.c.item_id.in_(bindparam("item_ids", expanding=True)))\n'
SPENT_AMOUNT = '        outputs.c.amount == bindparam("at_amount"),\n'
SPENT_LATER = '        outputs.c.created_by < bindparam("by_operation"),\n'
SPENT_SCHEMES = """        select(func.count())
        .where(item_schemes.c.item_id == bindparam("at_item_id"))
        .scalar_subquery()
        == bindparam("at_schemes_count"),
"""
SWAP_LOCK = 'self._operation(f"pg_advisory_xact_lock_shared({_SCHEMES_LOCK})")'
WIDENING_LOCK = 'self._operation(f"pg_advisory_xact_lock({_SCHEMES_LOCK})")'
INSERT_SCHEME = 'self._insert(hash_schemes, without={"id"})'


def _plain(table, without, returning=""):
    """Return an insert that does not leave a row alone which is there."""
    columns = f'[name for name in {table}.columns.keys() if name != "{without}"]'
    return f"Prepared({table}.insert(){returning}, dialect, {columns})"


# By name: what is replaced by what. The first occurs once in the source.
STATEMENT_MUTANTS = {
    "READ_SCHEMES in no order": (".order_by(hash_schemes.c.id)", ""),
    "READ_SCHEMES newest first": (
        "order_by(hash_schemes.c.id)",
        "order_by(hash_schemes.c.id.desc())",
    ),
    "READ_SCHEME_USE of any scheme": (SCHEME_IS_USED, "select_from(item_schemes)"),
    "READ_SCHEME_USE of no scheme": (SCHEME_IS_USED, "where(item_schemes.c.scheme_id < 0)"),
    "READ_SCHEME_USE guarding under any": (SCHEME_GUARDS, "outputs.c.spent_by.is_(None)"),
    "READ_SCHEME_USE guarding what is spent too": (
        SCHEME_GUARDS,
        'outputs.c.scheme_id == bindparam("scheme_id")',
    ),
    "READ_SCHEME_USE guarding what is spent": (
        SCHEME_GUARDS,
        SCHEME_GUARDS.replace("is_(", "is_not("),
    ),
    "READ_ITEM of any id": (ITEM, ""),
    "READ_ITEM of another id": (ITEM, ITEM.replace("==", "!=")),
    "READ_ITEM with another total": ("items.c.total,", 'items.c.created_by.label("total"),'),
    "READ_ITEM with another text": ("items.c.metadata)", 'items.c.id.label("metadata"))'),
    "READ_GUARDS of every item": (GUARDS, ""),
    "READ_GUARDS of the others": (GUARDS, GUARDS.replace(".in_", ".not_in")),
    "READ_GUARDS of items without schemes": (
        ".join_from(items, item_schemes)",
        ".join_from(items, item_schemes, isouter=True)",
    ),
    "READ_GUARDS of every scheme": (
        ".join_from(items, item_schemes)",
        ".join_from(items, item_schemes, items.c.total > 0)",
    ),
    "READ_OUTPUTS of every item": ('    outputs.c.item_id == bindparam("of_item_id"),\n', ""),
    "READ_OUTPUTS of another item": (
        'outputs.c.item_id == bindparam("of_item_id")',
        'outputs.c.item_id != bindparam("of_item_id")',
    ),
    "READ_OUTPUTS of every digest": (
        '    outputs.c.digest.in_(bindparam("digests", expanding=True)),\n',
        "",
    ),
    "READ_OPERATION of any key": (OPERATION, ""),
    "READ_OPERATION of another key": (OPERATION, OPERATION.replace(".in_", ".not_in")),
    "READ_OPERATION of mints alone": (f"{OPERATION_MINTED}, isouter=True", OPERATION_MINTED),
    "READ_OPERATION with any item": (OPERATION_MINTED, "items.c.total > 0"),
    "READ_OPERATION with an older item": (
        OPERATION_MINTED,
        "items.c.created_by <= operations.c.id",
    ),
    "READ_OPERATION with other inputs": (
        "operations.c.inputs_count",
        'operations.c.outputs_count.label("inputs_count")',
    ),
    "READ_OPERATION with other outputs": (
        "        operations.c.outputs_count",
        '        operations.c.inputs_count.label("outputs_count")',
    ),
    "READ_OPERATION with another id": (
        "        operations.c.id,\n        operations.c.kind",
        '        items.c.created_by.label("id"),\n        operations.c.kind',
    ),
    "READ_NEWEST_OPERATION in no order": (NEWEST, ".limit(1)"),
    "READ_NEWEST_OPERATION oldest first": (NEWEST, ".order_by(operations.c.id).limit(1)"),
    "READ_NEWEST_OPERATION and all others": (NEWEST, ".order_by(operations.c.id.desc())"),
    "READ_NEWEST_OPERATION by its time": (
        NEWEST,
        ".order_by(operations.c.created_at_ms.desc()).limit(1)",
    ),
    "READ_OPERATION_TIME of any": (OPERATION_TIME, ""),
    "READ_OPERATION_TIME of an older one": (OPERATION_TIME, OPERATION_TIME.replace("==", "<")),
    "READ_SCHEMES_COUNTS of every item": (COUNTED, ""),
    "READ_SCHEMES_COUNTS of the others": (COUNTED, COUNTED.replace(".in_", ".not_in")),
    "READ_SCHEMES_COUNTS of all items together": ("    .group_by(item_schemes.c.item_id)\n", ""),
    "READ_SCHEMES_COUNTS one too many": (
        'func.count().label("schemes_count")',
        '(func.count() + 1).label("schemes_count")',
    ),
    "SPEND_OUTPUT of every item": ('        outputs.c.item_id == bindparam("at_item_id"),\n', ""),
    "SPEND_OUTPUT of every digest": ('        outputs.c.digest == bindparam("at_digest"),\n', ""),
    "SPEND_OUTPUT of every amount": (SPENT_AMOUNT, ""),
    "SPEND_OUTPUT of a larger amount too": (SPENT_AMOUNT, SPENT_AMOUNT.replace("==", ">=")),
    "SPEND_OUTPUT of a smaller amount too": (SPENT_AMOUNT, SPENT_AMOUNT.replace("==", "<=")),
    "SPEND_OUTPUT created whenever": (SPENT_LATER, ""),
    "SPEND_OUTPUT created by the operation itself": (SPENT_LATER, SPENT_LATER.replace("<", "<=")),
    "SPEND_OUTPUT created by the one before alone": (
        SPENT_LATER,
        SPENT_LATER.replace("< bindparam", "== -1 + bindparam"),
    ),
    "SPEND_OUTPUT spent before": (
        "        outputs.c.spent_by.is_(None),\n        select",
        "        select",
    ),
    "SPEND_OUTPUT spent already": (
        "        outputs.c.spent_by.is_(None),\n        select",
        "        outputs.c.spent_by.is_not(None),\n        select",
    ),
    "SPEND_OUTPUT whatever the schemes": (SPENT_SCHEMES, ""),
    "SPEND_OUTPUT with more schemes": (
        SPENT_SCHEMES,
        SPENT_SCHEMES.replace('== bindparam("at_s', '>= bindparam("at_s'),
    ),
    "SPEND_OUTPUT with fewer schemes": (
        SPENT_SCHEMES,
        SPENT_SCHEMES.replace('== bindparam("at_s', '<= bindparam("at_s'),
    ),
    "SPEND_OUTPUT with the schemes of all items": (
        '        .where(item_schemes.c.item_id == bindparam("at_item_id"))\n',
        "        .select_from(item_schemes)\n",
    ),
    "SPEND_OUTPUT by another operation": (
        '.values(spent_by=bindparam("by_operation"))',
        ".values(spent_by=outputs.c.created_by + 1)",
    ),
    "SPEND_OUTPUT and empty it": (
        '.values(spent_by=bindparam("by_operation"))',
        '.values(spent_by=bindparam("by_operation"), amount=1)',
    ),
    "LOCK_KEY shared": (
        "select(func.pg_advisory_xact_lock(",
        "select(func.pg_advisory_xact_lock_shared(",
    ),
    "LOCK_KEY of no name": ('func.pg_advisory_xact_lock(bindparam("lock"))', 'bindparam("lock")'),
    "LOCK_KEY given back at once": (
        'func.pg_advisory_xact_lock(bindparam("lock"))',
        'func.pg_advisory_lock(bindparam("lock")), func.pg_advisory_unlock(bindparam("lock"))',
    ),
    "Writes.scheme that is there": (INSERT_SCHEME, _plain("hash_schemes", "id")),
    "Writes.operation that is there": (
        'self._insert(operations, without={"id"}, returning=returning)',
        _plain("operations", "id", ".returning(*returning)").replace("dialect", "self._dialect"),
    ),
    "Writes.item_scheme that is there": (
        "self._insert(item_schemes)",
        "Prepared(item_schemes.insert(), dialect)",
    ),
    "Writes.output that is there": (
        'self._insert(outputs, without={"spent_by"})',
        _plain("outputs", "spent_by"),
    ),
    "Writes of the other dialect": ('_dialect.name == "sqlite"', '_dialect.name != "sqlite"'),
    "Writes with locks on the other database": (
        'if dialect.name == "postgresql"',
        'if dialect.name != "postgresql"',
    ),
    "Writes.swap without a lock": (SWAP_LOCK, "self.operation"),
    "Writes.swap with the lock to itself": (SWAP_LOCK, WIDENING_LOCK),
    "Writes.widening_swap without a lock": (WIDENING_LOCK, "self.operation"),
    "Writes.widening_swap with a shared lock": (WIDENING_LOCK, SWAP_LOCK),
}


def statement_mutant_source(name):
    """Return the whole module with the break in it."""
    source = SOURCE.read_text(encoding="utf-8")
    old, new = STATEMENT_MUTANTS[name.removeprefix(PREFIX)]
    assert source.count(old) == 1, f"{name}: what it replaces occurs {source.count(old)} times"
    return source.replace(old, new)


def apply_statement_mutant(name):
    """Put the break into the module of this process, if the name is that of one."""
    if name.startswith(PREFIX):
        exec(compile(statement_mutant_source(name), SOURCE, "exec"), vars(statements))  # noqa: S102
