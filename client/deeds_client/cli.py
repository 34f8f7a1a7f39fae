"""`deeds-wallet`: commands return the records to print.

No secret is read from arguments.
"""

import os
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import click

from deeds_client import links
from deeds_client.commands import Command, Commands, OfflineCommand, outcome
from deeds_client.errors import DeedsError, InvalidInputError, WalletError
from deeds_client.names import complete_name, find, title
from deeds_client.records import Record, now_ms
from deeds_client.wallet import Wallet


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
_deed = click.Argument(["item_id"], metavar="DEED", shell_complete=complete_name)


@click.group(
    cls=Commands,
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


main.command_class = Command
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
    "item_id", metavar="[DEED]", required=False, shell_complete=complete_name
)
def balance(wallet: Wallet, item_id: str | None) -> list[Record]:
    """Show what is in the wallet.

    Of a DEED its parts, with the links that are given out.
    """
    click.get_current_context().meta["hint"] = _backup_hint(wallet)
    if item_id:
        return wallet.outputs(item_id, "held", "given", "offered", "coming")
    return [{"itemId": item_id, **units} for item_id, units in wallet.balance().items()]


def _backup_hint(wallet: Wallet) -> str:
    """Return what to say while a restore would not bring back every deed."""
    backup = wallet.store.get("notes", "backup")
    # Of a deed that the backup names, a restore finds all that has moved since.
    first = [wallet.outputs(item_id)[0] for item_id in wallet.balance()]
    count = sum(output["createdAt"] > backup.get("at", 0) for output in first)
    if not count:
        return ""
    if not backup:
        return "Not backed up yet."
    deeds = _counted(count, "deed")
    return f"{deeds} came in after the last backup: deeds-wallet export FILE"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _note_backup(wallet: Wallet, at: int) -> None:
    with wallet.store.transaction():
        wallet.store.put("notes", {"key": "backup", "at": at})


@main.command(cls=OfflineCommand, params=[_deed])
@click.option("--number", type=int, help="The link of this number.")
def show(wallet: Wallet, item_id: str, number: int | None) -> Record:
    """Show the code of what is held of a DEED, for the door. Works offline.

    Of several parts each has its turn, the lowest number first.
    """
    with wallet.store.transaction():
        parts = [
            part
            for part in wallet.outputs(item_id, "held", "given")
            if not part.get("unknown") and number in (None, _number(part))
        ]
        held = [part for part in parts if part["state"] == "held"]
        if parts and not held:
            was = "may have been" if parts[0].get("mayBeGiven") else "was"
            raise WalletError("nothing_held", f"Its link {was} handed out.")
        if not parts:
            said = f"No number {number}" if number else "Nothing"
            raise WalletError("nothing_here", f"{said} of this deed is here.")
        held.sort(key=lambda part: _number(part) or inf)
        part = min(held, key=lambda part: part.get("shownAt", 0))
        wallet.store.change(part["key"], shownAt=now_ms())
    unit = wallet.store.get("items", item_id).get("unit", "")
    words = []
    if _number(part):
        words.append(f"{unit} {part['number']} of {part.get('of', '?')}".strip())
    if len(held) > 1:
        words.append(f"{held.index(part) + 1} of {len(held)} here")
    return {
        "itemId": item_id,
        "amount": part["amount"],
        "said": ", ".join(words),
        "link": wallet.link(part),
    }


def _number(part: Record) -> int | None:
    """Return the number of a link; a part that becomes many links has only a first."""
    return None if "each" in part else part.get("number")


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
            record["said"], code = outcome(error)
            if getattr(error, "code", "") == "spent_input":
                record["said"] = "Already claimed. If it wasn't you, ask the sender."
            meta["code"] = max(code, meta.get("code", 0))
        records.append(record)
    return records


@main.command()
@click.argument("what", metavar="DEED|OFFER", shell_complete=complete_name)
@click.argument("numbers", type=int, nargs=-1)
def take_back(wallet: Wallet, what: str, numbers: tuple[int, ...]) -> list[Record]:
    """Take back links that nobody has claimed, all or these NUMBERS; or end a trade."""
    wallet.check()
    if "offer_" in what:
        offer_id = links.read_offer(what, wallet.deeds.base_url)
        made = wallet.store.all("operations", "open")
        offers = [each for each in made if each["offerId"] == offer_id]
        keys = [key for offer in offers for key in offer["inputs"]]
    else:
        given = wallet.outputs(find(wallet, what), "given")
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
@click.argument("wanted", shell_complete=complete_name)
def trade(
    wallet: Wallet, amount: int, item_id: str, wanted_amount: int, wanted: str
) -> Record:
    """Offer AMOUNT units of a DEED for units of another, WANTED."""
    return wallet.trade((item_id, amount), (find(wallet, wanted), wanted_amount))


@main.command()
@click.argument("offer")
@click.option("--yes", is_flag=True, help="Do not ask.")
def complete(wallet: Wallet, offer: str, *, yes: bool) -> Record:
    """Pay what an OFFER asks for, its link or id; or trade as it proposes."""
    found = wallet.deeds.offer(links.read_offer(offer, wallet.deeds.base_url))
    gives, gets = (
        " and ".join(f"{each.amount} {title(wallet, each.item_id)}" for each in side)
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
    return _with_progress("Checking", wallet.check)


@main.command()
def look(wallet: Wallet) -> list[Record]:
    """Look again for what other copies of this wallet have moved."""
    found = _with_progress("Looking", wallet.look)
    if not found:
        click.get_current_context().meta["told"] = "Nothing new was found."
    for output in found:
        del output["secret"]  # Nobody has asked for the links.
        output.pop("isUnclear", None)  # All that is found, another copy has moved.
    return found


def _with_progress(label: str, work: Callable[..., list[Record]]) -> list[Record]:
    with click.progressbar(length=100, label=label, file=sys.stderr) as bar:
        return work(lambda done, of: bar.update(100 * done // of - bar.pos))


@main.command(params=[_file])
def export(wallet: Wallet, file: Path) -> Record:
    """Write the whole wallet to a new encrypted FILE, which the page reads too."""
    passphrase, at = _read_passphrase(is_new=True), now_ms()
    written = _write(file, wallet.export(passphrase))
    _note_backup(wallet, at)
    return written


@main.command("import", params=[_file])
def import_(wallet: Wallet, file: Path) -> Record:
    """Take in the encrypted FILE of a wallet or of the page, and what moved since."""
    text = file.read_text(encoding="utf-8", errors="replace")
    is_first = not wallet.outputs()
    added, given = wallet.restore(text, _read_passphrase())
    if is_first:  # All that is here is in this file.
        _note_backup(wallet, now_ms())
    said = f"Restored. New here: {_counted(len(added), 'output')}."
    try:
        found = _with_progress("Looking", wallet.look)
    except BaseException:
        click.echo(said, err=True)
        raise
    said += f" Found since this backup: {len(found)}."
    click.get_current_context().meta["told"] = said
    return {"added": len(added), "given": len(given), "found": len(found)}
