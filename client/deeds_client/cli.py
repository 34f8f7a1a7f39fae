"""`deeds-wallet`: commands return the records to print.

No secret is read from arguments.
"""

import io
import json
import os
import re
import sys
from contextlib import closing, suppress
from pathlib import Path
from time import localtime, strftime
from typing import Any

import click
import segno
from rich.console import Console
from rich.table import Table

from deeds_client import links
from deeds_client.errors import CallError, DeedsError, InvalidInputError, WalletError
from deeds_client.records import Record, Store
from deeds_client.service import Deeds
from deeds_client.values import Item
from deeds_client.wallet import Wallet

_REFUSED, _BAD_INPUT, _NO_ANSWER, _STOPPED = 1, 2, 3, 130
_NAME_LENGTH_MAX = 60
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
_SUMS = ("held", "given", "offered", "coming", "unknown", "added")
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
_LINK = re.compile(r"(#|%23)(\+|%2B)|^\+[0-9]", re.IGNORECASE)


class _Commands(click.Group):
    """All commands, with what is common to their arguments."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Refuse links in arguments, before an error quotes one."""
        if any(map(_LINK.search, args)):
            raise click.UsageError(
                "Programs can read arguments, and a link is cash: see `claim`."
            )
        return super().parse_args(context, args)


class _Command(click.Command):
    """A command: a function of the wallet that returns records to print, or one."""

    def invoke(self, context: click.Context) -> None:
        options, arguments = context.find_root().params, context.params
        try:
            with Deeds(options["url"]) as deeds:
                if not options[
                    "path"
                ].exists():  # A new wallet is for a service that is there.
                    deeds.info()
                with closing(Wallet(options["path"], deeds)) as wallet:
                    for it in wallet.resume():
                        click.echo(
                            f"Begun: {it['kind']} {it['amount']}, {it['state']}.",
                            err=True,
                        )
                    if arguments.get("item_id") is not None:
                        arguments["item_id"] = _find(wallet, arguments["item_id"])
                    result = self.callback(wallet, **arguments)  # type: ignore[misc]
                    records = result if isinstance(result, list) else [result]
                    rows = [_row(wallet, record) for record in records]
        except (
            DeedsError,
            OSError,
            UnicodeError,
            KeyboardInterrupt,
            click.Abort,
        ) as error:
            said, code = _outcome(error)
            click.echo(said, err=True)
            context.exit(code)
        if options["is_json"]:
            click.echo(json.dumps(rows, indent=2))
        else:
            _show(rows)
        context.exit(context.meta.get("code", 0))


def _outcome(error: BaseException) -> tuple[str, int]:
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
        "Already claimed. If it wasn't you, ask the sender."
        if code == "spent_input"
        else error
    )
    return str(said), _REFUSED if code else _BAD_INPUT


def _find(wallet: Wallet, text: str) -> str:
    """Return the id of the deed of this name, mark, beginning of one, or id."""
    if re.fullmatch("deed_[0-9a-z]{26}", text):
        return wallet.item(text).id
    key, titles = (
        _folded(text),
        {each: _title(wallet, each) for each in wallet.balance()},
    )
    ways = {
        each: [_folded(way) for way in titles[each].rsplit(" ", 1)] for each in titles
    }
    # The name of a stranger's deed is not preferred to a mark.
    exact = [
        each
        for each, (name, mark) in ways.items()
        if name == key or mark.startswith(key)
    ]
    found = exact or [each for each, (name, _) in ways.items() if name.startswith(key)]
    if len(found) != 1 or not key:
        choices = (
            " or ".join(titles[each] for each in found) or "no deed in this wallet"
        )
        raise InvalidInputError(f"“{_plain(text)}” means {choices}.")
    return found[0]


def _title(wallet: Wallet, item_id: str) -> str:
    """Return for example "“Night Choir” 7kq2·m9xd".

    The mark tells deeds of one name apart.
    """
    name = ""
    with suppress(DeedsError):
        name = _plain(wallet.item(item_id).name)[:_NAME_LENGTH_MAX]
    return f"“{name or '?'}” {item_id[5:9]}·{item_id[-4:]}"


def _plain(value: Any) -> str:
    """Return a value in one line, which does not end quotation marks around it."""
    seen = (
        each if each.isprintable() and each not in "“”" else " " for each in str(value)
    )
    return " ".join("".join(seen).split())


def _folded(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold()) or name


def _complete_name(
    context: click.Context, _parameter: Any, incomplete: str
) -> list[str]:
    """Return the names in the wallet that begin so, without what a shell would obey."""
    path, items = context.find_root().params["path"], []
    if path.exists():
        with suppress(DeedsError), closing(Store(path)) as store:
            items = [
                Item(it["id"], it["total"], it.get("metadata"))
                for it in store.all("items")
            ]
    names = {re.sub(r"\W+", "-", item.name).strip("-") for item in items}
    return sorted(
        name for name in names if _folded(name).startswith(_folded(incomplete))
    )


def _row(wallet: Wallet, record: Record) -> Record:
    """Return what is printed of a record.

    One with a key is from a file that others may write.
    """
    names = _OF_RECORDS if "key" in record else ("itemId", *_COLUMNS)
    row = {name: record[name] for name in names if name in record}
    if "itemId" in row:
        row["deed"] = _title(wallet, row["itemId"])
    if "begunAt" in row:
        row["time"] = strftime("%Y-%m-%d %H:%M", localtime(row["begunAt"] / 1000))
    if row.get("state") == "given":
        row["link"] = wallet.link(record)
    if row.get("state") == "open":
        row["link"] = links.offer_link(wallet.deeds.base_url, row["offerId"])
    return row


def _show(rows: list[Record]) -> None:
    """Print a table, and at a terminal the QR code of a single link."""
    table = Table(box=None, pad_edge=False)
    names = [name for name in _COLUMNS if any(row.get(name) for row in rows)]
    for name in names:
        table.add_column(
            name, justify="right" if name in ("amount", *_SUMS) else "left"
        )
    for row in rows:
        table.add_row(*(_plain(row.get(name, "")) for name in names))
    # As wide as it must be: a link that is folded cannot be copied.
    console = Console(width=10_000, markup=False, emoji=False, highlight=False)
    console.print(table if names else "Nothing.")
    if len(rows) == 1 and "link" in names and console.is_terminal:
        code = io.StringIO()
        segno.make_qr(rows[0]["link"]).terminal(code, border=2, compact=True)
        console.print(code.getvalue(), style="bright_white on black", end="")


def _read_passphrase(*, is_new: bool = False) -> str:
    """Return the first line of standard input, or what is typed unseen."""
    if sys.stdin.isatty():
        said = click.prompt(
            "Passphrase", hide_input=True, confirmation_prompt=is_new, err=True
        )
        return str(said)
    if passphrase := sys.stdin.readline().rstrip("\r\n"):
        return passphrase
    raise InvalidInputError("The passphrase is the first line of standard input.")


def _write(file: Path, text: str) -> Record:
    """Write a new file of mode 0600, whole or not at all; return what is printed."""
    if file.exists():
        raise InvalidInputError(f"{file} is there already.")
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    part.touch(0o600, exist_ok=False)
    part.write_text(text, encoding="utf-8")
    return {"file": str(part.rename(file))}


_FILE = click.Path(dir_okay=False, path_type=Path, resolve_path=True)
_HOME = Path(click.get_app_dir("deeds-wallet")) / "wallet.sqlite3"
_file = click.Argument(["file"], type=_FILE)
_amount = click.Argument(["amount"], type=int)
_amounts = click.Argument(["amounts"], type=int, nargs=-1)
_deed = click.Argument(["item_id"], metavar="DEED", shell_complete=_complete_name)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--wallet", "path", type=_FILE, envvar="DEEDS_WALLET", default=_HOME, help="A file."
)
@click.option(
    "--url", envvar="DEEDS_URL", default="http://127.0.0.1:8000", help="Its service."
)
@click.option(
    "--json", "is_json", is_flag=True, help="Print a JSON array, for programs."
)
def main(**_options: Any) -> None:
    """Hold deeds. A DEED is its name or mark, or the beginning of one, or its id."""


main.command_class = _Command
main.command(params=[_deed, _amounts], help="Split a DEED into AMOUNTS and a rest.")(
    Wallet.split
)
main.command(params=[_deed], help="Join the free parts of a DEED, as many as fit.")(
    Wallet.merge
)
main.command(
    params=[_amount, _deed], help="Ask for AMOUNT units of a DEED, by a link."
)(Wallet.ask)
main.command(
    "send", params=[_amount, _deed], help="Make a link of AMOUNT units, to give away."
)(lambda wallet, item_id, amount: wallet.outputs_of(wallet.send(item_id, amount))[0])
main.command(help="Show what was done, the latest first.")(Wallet.history)


@main.command(params=[click.Argument(["name"]), _amounts])
@click.option("--count", type=int, default=0, help="Make so many numbered links.")
@click.option("--each", type=int, default=1, help="Units of each link.")
@click.option("--csv", "file", type=_FILE, help="A new file. Broken off, run it again.")
def mint(
    wallet: Wallet,
    name: str,
    amounts: tuple[int, ...],
    count: int,
    each: int,
    file: Path | None,
) -> Record:
    """Create a deed, in parts of these AMOUNTS, or as --count links for --csv."""
    job, about = f"{file} {count} {each} {name}", {"name": name}
    if not file and not count:
        return wallet.mint(amounts, metadata=about)
    if (
        amounts
        or not file
        or not count
        or file.exists()
        or not os.access(file.parent, os.W_OK)
    ):
        raise InvalidInputError(
            "Links need --count, --csv with a new file, and no amounts."
        )
    with click.progressbar(length=count, label="Making links", file=sys.stderr) as bar:
        made = wallet.issue(
            job, count, each, about, lambda done, _: bar.update(done - bar.pos)
        )
    if not bar.pos:
        click.echo("These links were made before, by the same command.", err=True)
    # As the page writes them for spreadsheets. Nothing in a link needs quotes.
    rows = [f"{part['number']},{part['amount']},{wallet.link(part)}," for part in made]
    text = "\r\n".join(["\ufeffnumber,units,link,note", *rows, ""])
    return {"amount": len(made), **_write(file, text)}


@main.command()
@click.argument(
    "item_id", metavar="[DEED]", required=False, shell_complete=_complete_name
)
def balance(wallet: Wallet, item_id: str | None) -> list[Record]:
    """Show what is in the wallet.

    Of a DEED its parts, with the links that are given out.
    """
    if item_id:
        return wallet.outputs(item_id, "held", "given", "offered", "coming")
    return [{"itemId": item_id, **units} for item_id, units in wallet.balance().items()]


@main.command()
def claim(wallet: Wallet) -> list[Record]:
    """Make the units of links yours. The links are read from standard input."""
    if sys.stdin.isatty():
        click.echo("Paste the links, then press Enter and Ctrl-D:", err=True)
    text = sys.stdin.buffer.read().decode(errors="replace")
    records, meta = [], click.get_current_context().meta
    for output in links.read_claims(text, wallet.deeds.base_url):
        record = {"itemId": output.item_id, "amount": output.amount, "said": "Claimed."}
        try:
            wallet.claim(output)
        except DeedsError as error:
            record["said"], code = _outcome(error)
            meta["code"] = max(code, meta.get("code", 0))
        records.append(record)
    return records


@main.command()
@click.argument("what", metavar="DEED|OFFER", shell_complete=_complete_name)
@click.argument("numbers", type=int, nargs=-1)
def take_back(wallet: Wallet, what: str, numbers: tuple[int, ...]) -> list[Record]:
    """Take back links that nobody has claimed, all or these NUMBERS; or end a trade."""
    wallet.check()
    if "offer_" in what:
        offer_id = links.read_offer(what, wallet.deeds.base_url)
        offers = [each for each in wallet.history() if each.get("offerId") == offer_id]
        keys = [key for offer in offers for key in offer["inputs"]]
    else:
        given = wallet.outputs(_find(wallet, what), "given")
        keys = [
            each["key"]
            for each in given
            if not numbers or each.get("number") in numbers
        ]
    size = wallet.deeds.info().array_length_max
    return [
        wallet.take_back(keys[at : at + size]) for at in range(0, len(keys) or 1, size)
    ]


@main.command(params=[_amount, _deed])
@click.argument("wanted_amount", type=int)
@click.argument("wanted", shell_complete=_complete_name)
def trade(
    wallet: Wallet, amount: int, item_id: str, wanted_amount: int, wanted: str
) -> Record:
    """Offer AMOUNT units of a DEED for units of another, WANTED."""
    return wallet.trade((item_id, amount), (_find(wallet, wanted), wanted_amount))


@main.command()
@click.argument("offer")
@click.option("--yes", is_flag=True, help="Do not ask.")
def complete(wallet: Wallet, offer: str, *, yes: bool) -> Record:
    """Pay what an OFFER asks for, its link or id; or trade as it proposes."""
    found = wallet.deeds.offer(links.read_offer(offer, wallet.deeds.base_url))
    gives, gets = (
        " and ".join(f"{each.amount} {_title(wallet, each.item_id)}" for each in side)
        for side in (found.wants, found.gives)
    )
    if not yes and not click.confirm(
        f"Give {gives} for {gets or 'nothing'}?", err=True
    ):
        raise WalletError("not_confirmed", "Nothing was moved.")
    return wallet.complete(found)


@main.command()
def check(wallet: Wallet) -> list[Record]:
    """Ask what was claimed and paid, and show what has changed."""
    with click.progressbar(length=100, label="Checking", file=sys.stderr) as bar:
        return wallet.check(lambda done, of: bar.update(100 * done // of - bar.pos))


@main.command(params=[_file])
def export(wallet: Wallet, file: Path) -> Record:
    """Write the whole wallet to a new encrypted FILE, which the page reads too."""
    return _write(file, wallet.export(_read_passphrase(is_new=True)))


@main.command("import", params=[_file])
def import_(wallet: Wallet, file: Path) -> Record:
    """Take in the encrypted FILE of another wallet, or of the page."""
    text = file.read_text(encoding="utf-8", errors="replace")
    added, given = wallet.restore(text, _read_passphrase())
    return {"added": len(added), "given": len(given)}
