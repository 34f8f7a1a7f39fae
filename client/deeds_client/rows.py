"""What is printed: rows of a table, or objects of a JSON array."""

import io
from collections.abc import Sequence
from datetime import datetime

import click
import segno
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from deeds_client import links
from deeds_client.errors import plain
from deeds_client.names import title
from deeds_client.records import Holding, Operation, milliseconds
from deeds_client.values import OperationState, Output, OutputState
from deeds_client.wallet import Wallet

_SUMS = ("held", "given", "offered", "coming", "unknown", "added", "found")
# Nothing else of a record is printed but these and its ids: it may have secrets.
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
_QR_BORDER = 2  # In modules. The standard has 4, but readers need less.

Row = dict[str, str | int]
Record = Operation | Output | Holding | Row


def row_of(wallet: Wallet, record: Record) -> Row:
    """Return what is printed of a record."""
    row: Row = {}
    if isinstance(record, dict):
        row |= record
    elif record.item_id:
        row["itemId"] = record.item_id
    for name in _COLUMNS:
        value = getattr(record, name, None)
        # Of an output "unknown" is no number of units.
        if value and value is not True:
            row[name] = value
    if isinstance(record, Operation):
        row |= _of_operation(record, wallet.deeds.base_url)
    if isinstance(record, Output):
        row |= _of_output(record, wallet.deeds.base_url)
    if "itemId" in row:
        row["deed"] = title(wallet, str(row["itemId"]))
    return row


def _of_operation(operation: Operation, base_url: str) -> Row:
    at = operation.begun_at
    row: Row = {"begunAt": milliseconds(at), "time": local_time(at)}
    if operation.offer_id:
        row["offerId"] = operation.offer_id
        if operation.state == OperationState.OPEN:
            row["link"] = links.offer_link(base_url, operation.offer_id)
    return row


def _of_output(output: Output, base_url: str) -> Row:
    row: Row = {}
    if output.state == OutputState.GIVEN:
        row["link"] = links.claim_link(base_url, output)
    if output.is_unclear:
        row["said"] = "Moved by another copy of this wallet, or claimed."
    elif output.spent_elsewhere and output.shown_at:
        row["said"] = "Used at the door."
    return row


def local_time(at: datetime) -> str:
    """Return a time as a clock on the wall shows it."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def lines_of(rows: Sequence[Row], width: int = _UNBOUNDED) -> list[str]:
    """Return a table, or a list where that is wider than this.

    A link that is folded cannot be copied: it is alone on its line where it is the only
    one, or the table is too wide.
    """
    shown = [_cells(row) for row in rows]
    if not any(shown):
        return ["Nothing."]
    lines = _table(shown)
    if len(rows) > 1 and _fits(lines, width):
        return lines
    addresses = [cells.pop("link") for cells in shown if "link" in cells]
    lines = _table(shown)
    if not _fits(lines, width):
        lines = _list(shown)
    return lines + addresses


def _cells(row: Row) -> dict[str, str]:
    """Return what a person reads, by the names of columns."""
    cells = {}
    for name in _COLUMNS:
        if row.get(name):
            cells[name] = plain(row[name], _UNBOUNDED)
    if "state" in cells and "said" in cells:
        cells["state"] = cells.pop("said")
    return cells


def _fits(lines: Sequence[str], width: int) -> bool:
    return max(map(cell_len, lines)) <= width


def _table(shown: Sequence[dict[str, str]]) -> list[str]:
    table = Table(box=None, pad_edge=False)
    named = set().union(*shown)
    names = [name for name in _COLUMNS if name in named]
    for name in names:
        is_sum = name in ("amount", *_SUMS)
        table.add_column(name, justify="right" if is_sum else "left")
    for cells in shown:
        table.add_row(*(cells.get(name, "") for name in names))
    drawn = io.StringIO()
    console = Console(file=drawn, width=_UNBOUNDED, markup=False, emoji=False)
    console.print(table)
    lines = drawn.getvalue().splitlines()
    return [line.rstrip() for line in lines]


def _list(shown: Sequence[dict[str, str]]) -> list[str]:
    """Return a line for each cell, and an empty one before each row but the first."""
    lines = []
    for cells in shown:
        lines.append("")
        lines += [f"{name:9}  {value}" for name, value in cells.items()]
    return lines[1:]


def code_of(link: str, width: int) -> list[str]:
    """Return a link's QR code for a terminal, nothing where it does not fit."""
    code = segno.make_qr(link)
    columns, _ = code.symbol_size(border=_QR_BORDER)
    if columns > width:
        return []
    drawn = io.StringIO()
    code.terminal(drawn, border=_QR_BORDER, compact=True)
    lines = drawn.getvalue().splitlines()
    # Dark on light, whatever the colours of the terminal are.
    return [click.style(line, fg="bright_white", bg="black") for line in lines]
