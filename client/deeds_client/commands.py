"""What is common to all commands: opens the wallet, prints results and errors."""

import io
import json
import re
from contextlib import closing
from time import localtime, strftime
from typing import Any

import click
import segno
from rich.console import Console
from rich.table import Table

from deeds_client import links
from deeds_client.errors import CallError, DeedsError, WalletError
from deeds_client.names import find, plain, title
from deeds_client.records import Record
from deeds_client.service import Deeds
from deeds_client.wallet import Wallet

_REFUSED, _BAD_INPUT, _NO_ANSWER, _STOPPED = 1, 2, 3, 130
_LOOK_IS_DUE = (
    "A look for what was moved since a restore is not finished: deeds-wallet look"
)
_LINK = re.compile(r"(#|%23)(\+|%2B)|^\+[0-9]", re.IGNORECASE)


# Nothing else is printed: records have secrets. Tables leave out what is not for
# people.
_ABOUT = (
    "time",
    "kind",
    "number",
    "amount",
    "deed",
    "state",
    "code",
    "said",
    "link",
    "file",
)
_SUMS = ("held", "given", "offered", "coming", "unknown", "added", "found")
_COLUMNS = (*_ABOUT, *_SUMS)
_OF_RECORDS = (
    "itemId",
    "offerId",
    "begunAt",
    "kind",
    "number",
    "amount",
    "state",
    "code",
)


class Commands(click.Group):
    """All commands, with what is common to their arguments."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Refuse links in arguments, before an error quotes one."""
        if any(map(_LINK.search, args)):
            raise click.UsageError(
                "Programs can read arguments, and a link is cash: see `claim`."
            )
        return super().parse_args(context, args)


class _NoService(Deeds):
    """Stands in for the service of a command that must work without one."""

    def _ask(self, *_: Any, **__: Any) -> Any:
        raise WalletError("nothing_here", "Nothing of this deed is here.")


class Command(click.Command):
    """A command: a function of the wallet that returns records to print, or one."""

    service: type[Deeds] = Deeds

    def invoke(self, context: click.Context) -> None:
        """Open the wallet, call the function and print, then exit."""
        options, arguments = context.find_root().params, context.params
        try:
            with self.service(options["url"]) as deeds:
                if not options[
                    "path"
                ].exists():  # A new wallet is for a service that is there.
                    deeds.info()
                with closing(Wallet(options["path"], deeds)) as wallet:
                    rows = self._rows(wallet, arguments)
        except (
            DeedsError,
            OSError,
            UnicodeError,
            KeyboardInterrupt,
            click.Abort,
        ) as error:
            said, code = outcome(error)
            click.echo(said, err=True)
            context.exit(code)
        if options["is_json"]:
            click.echo(json.dumps(rows, indent=2))
        elif told := context.meta.get("told"):
            click.echo(told)
        else:
            _show(rows)
            if hint := context.meta.get("hint"):
                click.echo(hint, err=True)
        context.exit(context.meta.get("code", 0))

    def _rows(self, wallet: Wallet, arguments: dict[str, Any]) -> list[Record]:
        for it in wallet.resume() if self.service is Deeds else ():
            click.echo(f"Begun: {it['kind']} {it['amount']}, {it['state']}.", err=True)
        try:
            if arguments.get("item_id") is not None:
                arguments["item_id"] = find(wallet, arguments["item_id"])
            result = self.callback(wallet, **arguments)  # type: ignore[misc]
        finally:
            if wallet.is_look_due():
                click.echo(_LOOK_IS_DUE, err=True)
        records = result if isinstance(result, list) else [result]
        return [_row(wallet, record) for record in records]


class OfflineCommand(Command):
    """A command that looks into the wallet's file alone."""

    service = _NoService


def outcome(error: BaseException) -> tuple[str, int]:
    """Return what a person is told of an error, and the exit code."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return (
            "Stopped. If something was begun, the next command goes on with it.",
            _STOPPED,
        )
    if isinstance(error, OSError):
        return f"{error.filename or 'A file'}: {error.strerror}.", _BAD_INPUT
    if isinstance(error, CallError) and not getattr(error, "is_final", False):
        return (
            f"{error}{' The next command goes on with it.' if error.key else ''}",
            _NO_ANSWER,
        )
    code = getattr(error, "code", "")  # Of what the service or the wallet refuses.
    said = (
        "Spent already: claimed, or moved by another copy of this wallet."
        if code == "spent_input"
        else error
    )
    return str(said), _REFUSED if code else _BAD_INPUT


def _row(wallet: Wallet, record: Record) -> Record:
    """Return what is printed of a record.

    One with a key is from a file that others may write.
    """
    names = _OF_RECORDS if "key" in record else ("itemId", *_COLUMNS)
    row = {name: record[name] for name in names if name in record}
    if "itemId" in row:
        row["deed"] = title(wallet, row["itemId"])
    if "begunAt" in row:
        row["time"] = strftime("%Y-%m-%d %H:%M", localtime(row["begunAt"] / 1000))
    if row.get("state") == "given" and "secret" in record:
        row["link"] = wallet.link(record)
    if row.get("state") == "open":
        row["link"] = links.offer_link(wallet.deeds.base_url, row["offerId"])
    if record.get("isUnclear"):
        row["said"] = "Moved by another copy of this wallet, or claimed."
    elif record.get("spentElsewhere") and "shownAt" in record:
        row["said"] = "Used at the door."
    return row


def _show(rows: list[Record]) -> None:
    """Print a table, and at a terminal the QR code of a single link."""
    for row in rows:
        if row.keys() >= {"state", "said"}:
            row["state"] = row.pop("said")
    table = Table(box=None, pad_edge=False)
    names = [name for name in _COLUMNS if any(row.get(name) for row in rows)]
    for name in names:
        table.add_column(
            name, justify="right" if name in ("amount", *_SUMS) else "left"
        )
    for row in rows:
        table.add_row(*(plain(row.get(name, "")) for name in names))
    # As wide as it must be: a link that is folded cannot be copied.
    console = Console(width=10_000, markup=False, emoji=False, highlight=False)
    console.print(table if names else "Nothing.")
    if len(rows) == 1 and "link" in names and console.is_terminal:
        code = io.StringIO()
        segno.make_qr(rows[0]["link"]).terminal(code, border=2, compact=True)
        console.print(code.getvalue(), style="bright_white on black", end="")
