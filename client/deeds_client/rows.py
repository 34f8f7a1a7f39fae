"""What is printed, rows of a table or objects of a JSON array, and names of deeds."""

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
_NAME_LENGTH_MAX = 60
_NOT_HELD = "no deed in this wallet. Give its id (deed_…)"
_QR_BORDER = 2  # In modules. The standard has 4, but readers need less.

Row = dict[str, str | int]
Record = Operation | Output | Holding | Row


def find(wallet: Wallet, text: str, *, is_minted: bool = False) -> str:
    """Return the id of the deed of this name, mark, beginning of one, or id.

    Of those that were minted here only, where that is asked for.
    """
    if re.fullmatch("deed_[0-9a-z]{26}", text):
        return wallet.item(text).id
    key = _folded(text)
    found: dict[str, str] = {}
    # A deed that is sold out is still the one that is meant.
    ours = [operation.item_id for operation in wallet.history() if operation.item_id]
    for item_id in dict.fromkeys([*wallet.balance(), *ours]):
        whole = title(wallet, item_id)
        # Anybody may mint and give a deed of any name: none is preferred.
        parts = [part.strip("“”") for part in whole.rsplit(" ", 1)]
        is_meant = any(_folded(part).startswith(key) for part in parts)
        if is_meant and (not is_minted or wallet.item(item_id).is_minted):
            found[item_id] = whole
    if key and len(found) == 1:
        return next(iter(found))
    meant = " or ".join(found.values()) or _NOT_HELD
    raise InvalidInputError(f"“{plain(text)}” means {meant}.")


def title(wallet: Wallet, item_id: str) -> str:
    """Return for example "“Night Choir” 7kq2·m9xd".

    The mark tells deeds of one name apart.
    """
    name = ""
    with suppress(DeedsError):
        name = plain(wallet.item(item_id).name, _NAME_LENGTH_MAX)
    return f"“{name or '?'}” {plain(item_id[5:9])}·{plain(item_id[-4:])}"


def _folded(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold()) or name


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
        row |= _of_operation(record)
    if isinstance(record, Output):
        row |= _of_output(record)
    if "itemId" in row:
        row["deed"] = title(wallet, str(row["itemId"]))
    return row


def _of_operation(operation: Operation) -> Row:
    at = operation.begun_at
    # As a clock on the wall shows it.
    time = f"{at.astimezone():%Y-%m-%d %H:%M}"
    row: Row = {"begunAt": milliseconds(at), "time": time, "kind": word_of(operation)}
    if operation.code == "offer_withdrawn":
        row["code"] = "cancelled"
    if operation.offer_id:
        row["offerId"] = operation.offer_id
        if operation.state == OperationState.OPEN:
            row["link"] = links.offer_link(service().base_url, operation.offer_id)
    return row


def word_of(operation: Operation) -> str:
    """Return what an operation does in a word: that of the verb."""
    return operation.kind.name.lower()


def _of_output(output: Output) -> Row:
    row: Row = {}
    if output.state == OutputState.GIVEN:
        row["link"] = links.claim_link(service().base_url, output)
    if output.is_unclear:
        row["said"] = "Moved by another copy of this wallet, or claimed."
    elif output.spent_elsewhere and output.shown_at:
        row["said"] = "Used at the door."
    return row


def lines_of(rows: Sequence[Row]) -> list[str]:
    """Return a table; a link is alone on its line below, where it can be copied."""
    shown = [_cells(row) for row in rows]
    if not any(shown):
        return ["Nothing."]
    addresses = [cells.pop("link") for cells in shown if "link" in cells]
    return _table(shown) + addresses


def _cells(row: Row) -> dict[str, str]:
    """Return what a person reads, by the names of columns."""
    cells = {}
    for name in _COLUMNS:
        if row.get(name):
            cells[name] = plain(row[name], _UNBOUNDED)
    if "state" in cells and "said" in cells:
        cells["state"] = cells.pop("said")
    return cells


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
    console = Console(
        file=drawn, width=_UNBOUNDED, markup=False, emoji=False, color_system=None
    )
    console.print(table)
    lines = drawn.getvalue().splitlines()
    return [line.rstrip() for line in lines]


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
