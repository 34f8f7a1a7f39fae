"""Formats records as table rows or JSON objects, and finds deeds by name."""

import io
import re
from collections.abc import Sequence
from contextlib import suppress

import click
import segno
from rich.console import Console
from rich.table import Table

from deeds_client import links
from deeds_client.errors import DeedsError, InvalidInputError, plain
from deeds_client.records import Holding, Operation, milliseconds
from deeds_client.terminal import service
from deeds_client.values import OperationState, Output, OutputState
from deeds_client.wallet import Wallet

_SUMS = ("held", "given", "offered", "coming", "unknown", "added", "found")
# An allowlist: only these fields and ids are printed, as records hold secrets.
_COLUMNS = (
    "time",
    "kind",
    "number",
    "amount",
    "deed",
    "state",
    "code",
    "said",
    "reference",
    "note",
    "link",
    "file",
    *_SUMS,
)
_UNBOUNDED = 10_000
_NAME_LENGTH_MAX = 60
_NOT_HELD = "no deed in this wallet. Give its id (deed_…)"
_QR_BORDER = 2  # In modules. The standard has 4, but readers need only 2.

Row = dict[str, str | int]
Record = Operation | Output | Holding | Row


def find(wallet: Wallet, text: str, *, is_minted: bool = False) -> str:
    """Return the id of a deed, given its id or the start of its name or mark.

    With `is_minted`, only deeds minted by this wallet match. Raise InvalidInputError
    unless exactly one deed matches.
    """
    if re.fullmatch("deed_[0-9a-z]{26}", text):
        return wallet.item(text).id
    key = _folded(text)
    titles: dict[str, str] = {}
    # Include deeds that the wallet no longer holds, for example one that is sold out.
    moved = [operation.item_id for operation in wallet.history() if operation.item_id]
    for item_id in dict.fromkeys([*wallet.balance(), *moved]):
        whole = title(wallet, item_id)
        # Never prefer one match: anybody can mint and give a deed of the same name.
        parts = [part.strip("“”") for part in whole.rsplit(" ", 1)]
        is_match = any(_folded(part).startswith(key) for part in parts)
        if is_match and (not is_minted or wallet.item(item_id).is_minted):
            titles[item_id] = whole
    if key and len(titles) == 1:
        return next(iter(titles))
    matches = " or ".join(titles.values()) or _NOT_HELD
    raise InvalidInputError(f"“{plain(text)}” means {matches}.")


def title(wallet: Wallet, item_id: str) -> str:
    """Return a deed's name and mark, for example “Night Choir” 7kq2·m9xd.

    The mark distinguishes deeds of the same name.
    """
    name = ""
    with suppress(DeedsError):
        name = plain(wallet.item(item_id).name, _NAME_LENGTH_MAX)
    return f"“{name or '?'}” {plain(item_id[5:9])}·{plain(item_id[-4:])}"


def _folded(name: str) -> str:
    """Return the letters and digits of a name in lower case, or the name if none."""
    return re.sub(r"[\W_]", "", name.casefold()) or name


def row_of(wallet: Wallet, record: Record) -> Row:
    """Return the printed fields of a record."""
    row: Row = {}
    if isinstance(record, dict):
        row |= record
    elif record.item_id:
        row["itemId"] = record.item_id
    for name in _COLUMNS:
        value = getattr(record, name, None)
        # An output's `unknown` is a flag, not a number of units.
        if value and value is not True:
            row[name] = value
    if isinstance(record, Operation):
        row |= _operation_fields(record)
    if isinstance(record, Output):
        row |= _output_fields(record)
    if "itemId" in row:
        row["deed"] = title(wallet, str(row["itemId"]))
    return row


def _operation_fields(operation: Operation) -> Row:
    at = operation.begun_at
    # In local time.
    time = f"{at.astimezone():%Y-%m-%d %H:%M}"
    row: Row = {"begunAt": milliseconds(at), "time": time, "kind": verb_of(operation)}
    if operation.code == "offer_withdrawn":
        row["code"] = "cancelled"
    if operation.offer_id:
        row["offerId"] = operation.offer_id
        if operation.state == OperationState.OPEN:
            row["link"] = links.offer_link(service().base_url, operation.offer_id)
    return row


def verb_of(operation: Operation) -> str:
    """Return the verb of an operation, such as "take_back"."""
    return operation.kind.name.lower()


def _output_fields(output: Output) -> Row:
    row: Row = {}
    if output.state == OutputState.GIVEN:
        row["link"] = links.claim_link(service().base_url, output)
    if output.is_unclear:
        row["said"] = "Moved by another copy of this wallet, or claimed."
    elif output.spent_elsewhere and output.shown_at:
        row["said"] = "Used at the door."
    return row


def lines_of(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table, then each link on a line of its own for copying."""
    cell_rows = [_cells(row) for row in rows]
    if not any(cell_rows):
        return ["Nothing."]
    addresses = [cells.pop("link") for cells in cell_rows if "link" in cells]
    return _table(cell_rows) + addresses


def _cells(row: Row) -> dict[str, str]:
    """Return the cells of a table row by column name."""
    cells = {}
    for name in _COLUMNS:
        if row.get(name):
            cells[name] = plain(row[name], _UNBOUNDED)
    if "state" in cells and "said" in cells:
        cells["state"] = cells.pop("said")
    return cells


def _table(cell_rows: Sequence[dict[str, str]]) -> list[str]:
    table = Table(box=None, pad_edge=False)
    filled = set().union(*cell_rows)
    names = [name for name in _COLUMNS if name in filled]
    for name in names:
        is_sum = name in ("amount", *_SUMS)
        table.add_column(name, justify="right" if is_sum else "left")
    for cells in cell_rows:
        table.add_row(*(cells.get(name, "") for name in names))
    text = io.StringIO()
    console = Console(
        file=text, width=_UNBOUNDED, markup=False, emoji=False, color_system=None
    )
    console.print(table)
    lines = text.getvalue().splitlines()
    return [line.rstrip() for line in lines]


def code_of(link: str, width: int) -> list[str]:
    """Return a link's QR code for a terminal; empty if it is wider than `width`."""
    code = segno.make_qr(link)
    columns, _ = code.symbol_size(border=_QR_BORDER)
    if columns > width:
        return []
    text = io.StringIO()
    code.terminal(text, border=_QR_BORDER, compact=True)
    lines = text.getvalue().splitlines()
    # Always dark on light, because readers need it.
    return [click.style(line, fg="bright_white", bg="black") for line in lines]
