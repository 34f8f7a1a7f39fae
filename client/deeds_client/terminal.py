"""What a person at a terminal types and reads: names of deeds, sentences, codes, and files.

Strangers write the names of deeds: only characters that can be printed are shown.
"""

import csv
import io
import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
import segno
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from deeds_client import links
from deeds_client.errors import (
    DeedsError,
    InvalidInputError,
    NoAnswerError,
    ProblemError,
    WalletError,
)
from deeds_client.records import Record, Store
from deeds_client.service import Deeds
from deeds_client.values import Item, Output
from deeds_client.wallet import Wallet

REFUSED, BAD_INPUT, NO_ANSWER, STOPPED = 1, 2, 3, 130
NO_SECRETS = (
    "Other programs can read arguments, and a link is like cash:"
    " run `deeds-wallet claim` alone, and paste it."
)
_SECRET = re.compile(r"(#|%23)(\+|%2b)|^\+[0-9]", re.IGNORECASE)
_DEFAULT_URL = "http://127.0.0.1:8000"
_TEXT_LENGTH_MAX = 60
# Letters of other scripts, and digits, that look like a Latin one.
_ALIKE = str.maketrans("аеорсухіјѕһԁԛԝкмтвнαορνικτ01i", "aeopcyxljshdqwkmtbhaopvlktoll")  # noqa: RUF001
# Done, and under way.
_VERBS = {
    "mint": ("Created", "Creating"),
    "claim": ("Claimed", "Claiming"),
    "send": ("Made a link of", "Making a link of"),
    "split": ("Split", "Splitting"),
    "merge": ("Merged", "Merging"),
    "takeBack": ("Took back", "Taking back"),
    "ask": ("Received", "Asking for"),
    "trade": ("Traded", "Offering"),
    "complete": ("Paid", "Paying"),
    "withdraw": ("Withdrew", "Withdrawing"),
}
_PROBLEMS = {
    "spent_input": "Already claimed. If it wasn't you, ask the sender.",
    "unknown_input": "This service does not know this link. Ask the sender for it again.",
    "offer_not_open": "This offer can no longer be taken.",
}


class Commands(click.Group):
    """Commands whose errors are a sentence and an exit code."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command."""
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(context)
        except DeedsError as error:
            said, code = error_text(error), exit_code(error)
        except (KeyboardInterrupt, click.Abort):
            said, code = "Stopped. The next command goes on with what was begun.", STOPPED
        except BrokenPipeError:
            raise
        except OSError as error:
            said, code = f"{error.filename}: {error.strerror}.", BAD_INPUT
        click.echo(said, err=True)
        raise click.exceptions.Exit(code)


def exit_code(error: DeedsError) -> int:
    """Return whether it was refused, makes no sense, or got no answer yet."""
    if isinstance(error, NoAnswerError) or (isinstance(error, ProblemError) and not error.is_final):
        return NO_ANSWER
    return REFUSED if isinstance(error, ProblemError | WalletError) else BAD_INPUT


def error_text(error: DeedsError) -> str:
    """Return what a person is told."""
    if exit_code(error) == NO_ANSWER and getattr(error, "key", None):
        why = "No answer yet." if isinstance(error, NoAnswerError) else error
        return f"{why} It is written down, and the next command goes on with it."
    return _PROBLEMS.get(getattr(error, "code", ""), str(error))


def plain(text: str) -> str:
    """Return a text in one line, not too long, that does not end its quotation marks."""
    seen = (each if each.isprintable() and each not in "“”" else " " for each in text)
    line = " ".join("".join(seen).split())
    return line if len(line) <= _TEXT_LENGTH_MAX else f"{line[: _TEXT_LENGTH_MAX - 1]}…"


def likeness(name: str) -> str:
    """Return what names have in common that a person takes for one."""
    letters = "".join(each for each in unicodedata.normalize("NFKD", name) if each.isalnum())
    return letters.upper().lower().translate(_ALIKE) or plain(name)


def mark_of(item_id: str) -> str:
    """Return for example "7kq2·m9xd": it tells deeds of one name apart."""
    letters = item_id.removeprefix("deed_")
    return f"{letters[:4]}·{letters[-4:]}"


def units_text(amount: int) -> str:
    """Return for example "3 units"."""
    return f"{amount} unit{'' if amount == 1 else 's'}"


def time_text(milliseconds: int) -> str:
    """Return a time as it is here."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone():%Y-%m-%d %H:%M}"


def operation_text(operation: Record, part: str) -> str:
    """Return what an operation has done with this part, or is about to do."""
    done, under_way = _VERBS[operation["kind"]]
    match operation["state"]:
        case "done":
            return f"{done} {part}"
        case "open":
            return f"{under_way} {part} until {time_text(operation['expiresAt'])}"
        case "refused":
            return f"{under_way} {part}: {operation['code'].replace('_', ' ')}"
    return f"{under_way} {part}: no answer yet"


def news_of(output: Record) -> str:
    """Return what has become of an output that the service was asked about."""
    if output["state"] != "spent":
        return {"held": "Yours.", "void": "Nobody paid in time."}.get(output["state"], "Unknown.")
    if not output.get("spentElsewhere"):
        return "Traded."
    return "Claimed." if "givenAt" in output else "No longer yours: its link was used."


def read_lines(question: str) -> str:
    """Return the text of standard input; of a terminal the lines before an empty one."""
    if not sys.stdin.isatty():
        return sys.stdin.read()
    click.echo(question, err=True)
    return "".join(takewhile(str.strip, sys.stdin))


def read_passphrase(*, is_new: bool = False) -> str:
    """Return the first line of standard input, or what is typed unseen at a terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True))


def qr_lines(text: str) -> list[str]:
    """Return the QR code of a text, if stdout is a terminal that is wide enough."""
    code = io.StringIO()
    segno.make_qr(text).terminal(code, border=2, compact=True)
    lines = code.getvalue().splitlines()
    is_shown = sys.stdout.isatty() and len(lines[0]) <= shutil.get_terminal_size().columns
    return [click.style(line, fg="bright_white", bg="black") for line in lines if is_shown]


def _look_into(path: Path) -> tuple[str, list[Item]]:
    """Return the address of a wallet's service and the known items; "" if there is no wallet."""
    if not path.exists():
        return "", []
    store = Store(path)
    with store.transaction() as records:
        url, items = records.get("notes", "service").get("url", ""), records.all("items")
    store.close()
    return url, [Item(each["id"], each["total"], each.get("metadata")) for each in items]


class Deed(click.ParamType[str]):
    """The id of a deed, which a person names."""

    name = "deed"

    def convert(self, value: str, _parameter: Any, context: click.Context | None) -> str:
        """Return the id."""
        terminal = context.find_object(Terminal) if context and value else None
        return terminal.find(value) if terminal else value

    def shell_complete(
        self, context: click.Context, _parameter: Any, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names in the wallet's file that begin so.

        They stand in a command line then: no shell finds anything to do in letters and digits.
        """
        _, items = _look_into(context.find_root().params["path"])
        names = {re.sub(r"\W+", "-", item.name).strip("-") for item in items}
        begun = likeness(incomplete)
        return [CompletionItem(name) for name in sorted(names) if likeness(name).startswith(begun)]


@dataclass
class Terminal:
    """Where commands read and write: results on stdout, all else that is said on stderr."""

    context: click.Context
    path: Path
    url: str
    is_json: bool

    @cached_property
    def wallet(self) -> Wallet:
        """The wallet, opened when it is first needed: help asks no service."""
        home, _ = _look_into(self.path)
        deeds = self.context.with_resource(Deeds(self.url or home or _DEFAULT_URL))
        if not home:
            click.echo(f"This is a new wallet, for {deeds.base_url}.", err=True)
            # A wallet stays with its service, so there must be one.
            deeds.info()
        wallet = Wallet(self.path, deeds)
        self.context.call_on_close(wallet.close)
        for each in wallet.resume():
            said = operation_text(each, units_text(each["amount"]))
            click.echo(f"Begun earlier, finished now: {said}.", err=True)
        return wallet

    def find(self, text: str) -> str:
        """Return the id of the deed that a name, an id, the beginning of one or a link means."""
        if _SECRET.search(text):
            raise InvalidInputError(NO_SECRETS)
        if item_id := links.read_item(text, self.wallet.deeds.base_url):
            return self.wallet.item(item_id).id
        key, letters = likeness(text), text.removeprefix("deed_")
        # What was only looked at may be a forgery of what is here.
        for items in (self._own_items(), _look_into(self.path)[1]):
            found = [each for each in items if likeness(each.name) == key] or [
                each
                for each in items
                if likeness(each.name).startswith(key)
                or each.id.removeprefix("deed_").startswith(letters)
                or mark_of(each.id) == text
            ]
            if len(found) == 1:
                return found[0].id
            if found:
                which = ", ".join(f"“{plain(each.name)}” {mark_of(each.id)}" for each in found)
                raise InvalidInputError(f"This may be {which}. Name one by its mark.")
        raise InvalidInputError(f"There is no deed “{plain(text)}” in this wallet.")

    def _own_items(self) -> list[Item]:
        """Return the items that were made here, or are or were held."""
        with self.wallet.store.transaction() as records:
            own = {each["id"] for each in records.all("items") if each.get("isMinted")}
        for output in self.wallet.outputs():
            if output["state"] not in ("seen", "coming", "void"):
                own.add(output["itemId"])
        return [item for item in _look_into(self.path)[1] if item.id in own]

    def check_origin(self, item_id: str, *, yes: bool) -> None:
        """Ask before a deed comes in that has the name of another one in the wallet."""
        item = self.wallet.item(item_id)
        key = likeness(item.name)
        alike = [each for each in self._own_items() if key and likeness(each.name) == key]
        if any(each.id != item_id for each in alike):
            marks = ", ".join(mark_of(each.id) for each in alike)
            said = f"Another deed of this name is in your wallet, {marks}: ask the sender."
            self.sure(f"{said} Take “{plain(item.name)}” {mark_of(item_id)}?", yes=yes)

    def sure(self, question: str, *, yes: bool) -> None:
        """Ask whether to go on; raise WalletError if not, or if nobody is there to be asked."""
        if not yes and not sys.stdin.isatty():
            raise WalletError("not_confirmed", f"{question} Nothing was moved: add --yes.")
        if not yes and not click.confirm(question, err=True):
            raise WalletError("not_confirmed", "Nothing was moved.")

    def name_of(self, item_id: str) -> str:
        """Return the name of a deed; "?" if it cannot be known now."""
        try:
            return plain(self.wallet.item(item_id).name) or "A deed without a name"
        except DeedsError:
            return "?"

    def part_of(self, amount: int, item_id: str) -> str:
        """Return for example "3 units of “Night Choir” 7kq2·m9xd"."""
        return f"{units_text(amount)} of “{self.name_of(item_id)}” {mark_of(item_id)}"

    def text_of(self, operation: Record) -> str:
        """Return what an operation has done, or is about to do."""
        amount, item_id = operation["amount"], operation.get("itemId")
        part = self.part_of(amount, item_id) if item_id else units_text(amount)
        return f"{operation_text(operation, part)}."

    def link_of(self, output: Record) -> str:
        """Return the link that hands an output over."""
        with self.wallet.store.transaction() as records:
            unit = records.get("items", output["itemId"]).get("unit", "")
        raw = Output(output["amount"], output["itemId"], output["secret"])
        return links.claim_link(self.wallet.deeds.base_url, raw, unit)

    def show(self, data: Any, *parts: str | Table) -> None:
        """Print a result: JSON for programs, else lines and tables for people."""
        for part in [json.dumps(data, indent=2)] if self.is_json else parts:
            if isinstance(part, Table):
                Console(markup=False, emoji=False, highlight=False).print(part)
            else:
                click.echo(part)

    def show_operation(self, operation: Record, link: str = "") -> None:
        """Print what an operation has done, and the link that came of it."""
        if operation["state"] == "open":
            link = links.offer_link(self.wallet.deeds.base_url, operation["offerId"])
        lines = [link, *qr_lines(link)] if link else []
        data = data_of(operation) | ({"link": link} if link else {})
        self.show(data, self.text_of(operation), *lines)

    def show_rows(self, rows: list[tuple[str, int, str]]) -> None:
        """Print what is to be said of units, each with its item's id and amount."""
        data = [dict(zip(("itemId", "amount", "said"), row, strict=True)) for row in rows]
        lines = [f"{self.part_of(amount, item_id)}: {said}" for item_id, amount, said in rows]
        self.show(data, *(lines or ["Nothing has changed."]))

    def csv_of(self, outputs: list[Record]) -> str:
        """Return numbered links as the page writes them for spreadsheets."""
        text = io.StringIO(newline="")
        rows = csv.writer(text)
        rows.writerow(("number", "units", "link", "note"))
        rows.writerows((each["number"], each["amount"], self.link_of(each), "") for each in outputs)
        return f"\ufeff{text.getvalue()}"

    def write(self, path: Path, text: str, *, force: bool = False) -> None:
        """Write a file of mode 0600, whole or not at all; what is there stays, unless `force`."""
        part = path.with_name(f".{path.name}.part")
        # One process after the other: another one may have been killed and left its part.
        with self.wallet.store.transaction():
            part.unlink(missing_ok=True)
            part.touch(0o600, exist_ok=False)
            try:
                with part.open("w", encoding="utf-8", newline="") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                if force:
                    part.replace(path)
                else:
                    # Unlike a rename, this never replaces a file.
                    path.hardlink_to(part)
            finally:
                part.unlink(missing_ok=True)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show a progress bar at a terminal; it is told how much is done, of how much."""
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)


def data_of(operation: Record) -> dict[str, Any]:
    """Return what programs are told of an operation."""
    names = ("key", "kind", "state", "itemId", "amount", "code", "offerId", "begunAt", "expiresAt")
    return {name: operation[name] for name in names if name in operation}
