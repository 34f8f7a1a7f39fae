"""What a person at a terminal types and reads: names of deeds, tables, errors and files."""

import io
import json
import re
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import localtime, strftime
from typing import Any

import click
import segno
from rich.console import Console
from rich.table import Table

from deeds_client import links
from deeds_client.errors import CallError, DeedsError, InvalidInputError, ProblemError, WalletError
from deeds_client.records import Record, Store
from deeds_client.service import Deeds
from deeds_client.values import Item
from deeds_client.wallet import Wallet

REFUSED, BAD_INPUT, NO_ANSWER, STOPPED = 1, 2, 3, 130
NO_SECRETS = "Programs can read arguments, and a link is cash: paste it to `deeds-wallet claim`."
_SECRET = re.compile(r"(#|%23)(\+|%2b)|^\+[0-9]", re.IGNORECASE)
_NAME_LENGTH_MAX = 60
_HELD = ("held", "given", "offered", "leaving", "spent")
# Nothing else is printed: records have secrets. Tables leave the last ones out.
_ABOUT = ("time", "kind", "number", "amount", "deed", "mark", "state", "code", "said", "link")
_SUMS = ("free", "given", "offered", "coming", "set aside", "claimed", "lost", "unknown")
_COLUMNS = (*_ABOUT, *_SUMS, "added", "made", "file")
_FIELDS = (*_COLUMNS, "itemId", "offerId", "begunAt", "expiresAt")


class Commands(click.Group):
    """Commands that return what is printed, and whose errors are a sentence and an exit code."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command and print what it returns."""
        try:
            records = super().invoke(context)
            context.obj.show(records)
            code = context.obj.exit_code
        except BrokenPipeError:
            raise
        except (DeedsError, OSError, UnicodeError, KeyboardInterrupt, click.Abort) as error:
            said, code = outcome(error)
            click.echo(said, err=True)
        context.exit(code)


def outcome(error: BaseException) -> tuple[str, int]:
    """Return what a person is told; and the code: refused, makes no sense, or no answer yet."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "Stopped. The next command goes on with what was begun.", STOPPED
    if isinstance(error, OSError):
        return f"{error.filename2 or error.filename}: {error.strerror}.", BAD_INPUT
    if isinstance(error, CallError) and not getattr(error, "is_final", False):
        goes_on = " It is written down, and the next command goes on with it."
        return f"{error}{goes_on if error.key else ''}", NO_ANSWER
    if getattr(error, "code", "") == "spent_input":
        return "Already claimed. If it wasn't you, ask the sender.", REFUSED
    return str(error), REFUSED if isinstance(error, ProblemError | WalletError) else BAD_INPUT


def plain(value: Any) -> str:
    """Return a value in one line, which does not end quotation marks around it."""
    seen = (each if each.isprintable() and each not in "“”" else " " for each in str(value))
    return " ".join("".join(seen).split())


def folded(name: str) -> str:
    """Return what names that a person takes for one have in common."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", name).casefold()) or name


def mark_of(item_id: str) -> str:
    """Return for example "7kq2·m9xd": it tells deeds of one name apart."""
    return f"{item_id[5:9]}·{item_id[-4:]}"


def read_passphrase(*, is_new: bool = False) -> str:
    """Return the first line of standard input, or what is typed unseen at a terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar at a terminal; what it yields is told how much is done, of how much."""
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def told(done: int, of: int) -> None:
            bar.length = of
            bar.update(done - bar.pos)

        yield told


def write_private(path: Path, text: str) -> None:
    """Write a new file of mode 0600, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as directory:
        part = Path(directory, path.name)
        part.touch(0o600)
        part.write_text(text, encoding="utf-8", newline="")
        # Unlike a rename, this never replaces a file.
        path.hardlink_to(part)


def _look_into(path: Path) -> tuple[str, list[Item]]:
    """Return the address of a wallet's service and the known items; "" if there is no wallet."""
    if not path.exists():
        return "", []
    with closing(Store(path)) as store, store.transaction() as records:
        url, items = records.get("notes", "service").get("url", ""), records.all("items")
    return url, [Item(each["id"], each["total"], each.get("metadata")) for each in items]


def complete_name(context: click.Context, _parameter: Any, incomplete: str) -> list[str]:
    """Return the names in the wallet's file that begin so, without what a shell would obey."""
    items = _look_into(context.find_root().params["path"])[1]
    names = {re.sub(r"\W+", "-", item.name).strip("-") for item in items}
    return sorted(name for name in names if folded(name).startswith(folded(incomplete)))


@dataclass
class Terminal:
    """Where commands read and write: results on stdout, all else that is said on stderr."""

    context: click.Context
    path: Path
    url: str
    is_json: bool
    exit_code: int = 0

    @cached_property
    def wallet(self) -> Wallet:
        """The wallet, opened when it is first needed: help asks no service."""
        home = _look_into(self.path)[0]
        deeds = self.context.with_resource(Deeds(self.url or home or "http://127.0.0.1:8000"))
        if not home:
            click.echo(f"This is a new wallet, for {deeds.base_url}.", err=True)
            # A wallet stays with its service, so there must be one.
            deeds.info()
        wallet = Wallet(self.path, deeds)
        self.context.call_on_close(wallet.close)
        for each in wallet.resume():
            click.echo(f"Begun before: {each['kind']} {each['amount']}, {each['state']}.", err=True)
        return wallet

    def find(self, text: str) -> str:
        """Return the id of the deed that a name, an id, the beginning of one or a link means."""
        if _SECRET.search(text):
            raise InvalidInputError(NO_SECRETS)
        if item_id := links.read_id("deed", text, self.wallet.deeds.base_url):
            return self.wallet.item(item_id).id
        names, key = self._names(), folded(text.removeprefix("deed_"))
        ways = {each: (names[each], each[5:], folded(mark_of(each))) for each in names}
        exact = [each for each in names if names[each] == key]
        found = exact or [each for each in names if any(way.startswith(key) for way in ways[each])]
        if len(found) == 1:
            return found[0]
        may_be = " or ".join(map(self.title_of, found))
        why = f"may be {may_be}: take the mark" if found else "is no deed in this wallet"
        raise InvalidInputError(f"“{plain(text)}” {why}.")

    def _names(self) -> dict[str, str]:
        """Return the folded names of deeds that are or were held: others may be forgeries."""
        held = {each["itemId"] for each in self.wallet.outputs("", *_HELD)}
        return {item_id: folded(self.name_of(item_id)) for item_id in held}

    def name_of(self, item_id: str) -> str:
        """Return the name of a deed, "?" if it has none or none can be known now."""
        with suppress(DeedsError):
            return plain(self.wallet.item(item_id).name)[:_NAME_LENGTH_MAX] or "?"
        return "?"

    def title_of(self, item_id: str) -> str:
        """Return for example "“Night Choir” 7kq2·m9xd"."""
        return f"“{self.name_of(item_id)}” {mark_of(item_id)}"

    def check_origin(self, item_id: str, *, yes: bool) -> None:
        """Ask before a deed comes in that has the name of another one in the wallet."""
        names, key = self._names(), folded(self.name_of(item_id))
        alike = [self.title_of(each) for each in names if names[each] == key != "?"]
        if alike and item_id not in names:
            self.sure(f"You have {alike[0]}. Take the other {self.title_of(item_id)}?", yes=yes)

    def sure(self, question: str, *, yes: bool) -> None:
        """Ask whether to go on; raise WalletError if not, or if nobody is there to be asked."""
        if not yes and not (sys.stdin.isatty() and click.confirm(question, err=True)):
            raise WalletError("not_confirmed", f"{question} Nothing was moved: add --yes.")

    def show(self, data: Any) -> None:
        """Print records: as JSON, or as a table for people, which is upright if it is of one."""
        rows = [self._row(record) for record in (data if isinstance(data, list) else [data])]
        if self.is_json:
            click.echo(json.dumps(rows if isinstance(data, list) else rows[0], indent=2))
            return
        names = [name for name in _COLUMNS if any(row.get(name) for row in rows)]
        lines = [names, *([plain(row.get(name, "")) for name in names] for row in rows)]
        table = Table(box=None, pad_edge=False, show_header=False)
        for line in lines if isinstance(data, list) else zip(*lines, strict=True):
            table.add_row(*line)
        # As wide as it must be: a link that is folded cannot be copied.
        console = Console(width=10_000, markup=False, emoji=False, highlight=False)
        with console.capture() as printed:
            console.print(table if names else "Nothing.")
        click.echo(re.sub("(?m) +$", "", printed.get()), nl=False)
        if console.is_terminal and isinstance(data, dict) and "link" in names:
            code = io.StringIO()
            segno.make_qr(rows[0]["link"]).terminal(code, border=2, compact=True)
            console.print(code.getvalue(), style="bright_white on black", end="")

    def _row(self, record: Record) -> Record:
        """Return what is printed of a record."""
        row = {**record}
        if "itemId" in row:
            row |= {"deed": self.name_of(row["itemId"]), "mark": mark_of(row["itemId"])}
        if "begunAt" in row:
            row["time"] = strftime("%Y-%m-%d %H:%M", localtime(row["begunAt"] / 1000))
        if row.get("spentElsewhere"):
            row["state"] = "claimed"
        if row.get("state") == "given":
            row["link"] = self.wallet.link(record)
        if row.get("state") == "open":
            row["link"] = links.offer_link(self.wallet.deeds.base_url, row["offerId"])
        return {name: row[name] for name in _FIELDS if name in row}
