"""`deeds-wallet`: commands return the records to print. No secret is read from arguments."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from deeds_client import links, terminal
from deeds_client.errors import DeedsError, InvalidInputError, WalletError
from deeds_client.records import Record
from deeds_client.terminal import Terminal

_FILE = click.Path(dir_okay=False, path_type=Path, resolve_path=True)
_HOME = Path(click.get_app_dir("deeds-wallet")) / "wallet.sqlite3"
_Deed = partial(
    click.Argument,
    callback=lambda context, _parameter, text: context.obj.find(text) if text is not None else "",
    shell_complete=terminal.complete_name,
)
_deed = _Deed(["deed"])
_what = click.Argument(["what"], metavar="DEED|OFFER", shell_complete=terminal.complete_name)
_numbers = click.Argument(["numbers"], type=int, nargs=-1)
_amount = click.Argument(["amount"], type=int)
_file = click.Argument(["file"], type=_FILE)
_yes = click.Option(["--yes"], is_flag=True, help="Do not ask.")


@click.group(cls=terminal.Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--wallet", "path", type=_FILE, envvar="DEEDS_WALLET", default=_HOME)
@click.option("--url", envvar="DEEDS_URL", default="", help="The service of a new wallet.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON, for programs.")
@click.version_option("0.1.0")
@click.pass_context
def main(context: click.Context, /, **options: Any) -> None:
    """Hold deeds, and hand them over by links that work once.

    A DEED is named by its name or id, the beginning of either, its mark, or a link to its page.
    """
    context.obj = Terminal(context, **options)


def _command(*parameters: click.Parameter, name: str | None = None) -> Callable[[Any], Any]:
    """Make a command of a function of the terminal and these parameters."""
    return lambda function: main.command(name, params=list(parameters))(click.pass_obj(function))


@_command(
    click.Argument(["name"]),
    click.Argument(["amounts"], type=int, nargs=-1),
    click.Option(["--count"], type=int, default=0, help="Make so many numbered links."),
    click.Option(["--each"], type=int, default=1, help="Units of each link."),
    click.Option(["--csv", "file"], type=_FILE, help="A new file. Broken off, run it again."),
    click.Option(["--description"], default=""),
    click.Option(["--image"], default="", help="The address of a picture."),
)
def mint(shell: Terminal, amounts: Sequence[int], **options: Any) -> Record:
    """Create a deed, in parts of these AMOUNTS, or as --count links for the file of --csv."""
    wallet, names = shell.wallet, ("name", "description", "image")
    about = {name: options[name] for name in names if options[name]}
    file, count, each = options["file"], options["count"], options["each"]
    if bool(amounts) == bool(file) or bool(count) != bool(file):
        raise InvalidInputError("Say amounts, or --count and --csv.")
    if amounts:
        return wallet.mint(amounts, metadata=about)
    if file.exists() or not file.parent.is_dir():
        raise InvalidInputError(f"{file} must be a new file, in a folder that is there.")
    with terminal.progress("Making links") as told:
        outputs = wallet.issue(f"{file} {count} {each} {about}", count, each, about, told)
    # As the page writes them for spreadsheets. Nothing in a link needs quotes.
    rows = [f"{part['number']},{part['amount']},{wallet.link(part)}," for part in outputs]
    terminal.write_private(file, "\r\n".join(["\ufeffnumber,units,link,note", *rows, ""]))
    return {"made": len(outputs), "file": str(file)}


@_command(_Deed(["deed"], required=False))
def balance(shell: Terminal, deed: str) -> list[Record]:
    """Show what is in the wallet; of a DEED its parts, with the links that are given out."""
    if deed:
        return shell.wallet.outputs(deed, "held", "given", "offered", "coming")
    return [{"itemId": item_id, **units} for item_id, units in shell.wallet.balance().items()]


@_command(_amount, _deed)
def send(shell: Terminal, amount: int, deed: str) -> Record:
    """Make a link of AMOUNT units of a DEED, to give away."""
    return shell.wallet.outputs_of(shell.wallet.send(deed, amount))[0]


@_command(click.Argument(["arguments"], nargs=-1, metavar=""), _yes)
def claim(shell: Terminal, arguments: Sequence[str], *, yes: bool) -> list[Record]:
    """Make the units of links yours. The links are read from standard input."""
    if arguments:
        raise InvalidInputError(terminal.NO_SECRETS)
    base_url, rows = shell.wallet.deeds.base_url, []
    if sys.stdin.isatty():
        click.echo("Paste the links, then press Enter and Ctrl-D:", err=True)
    for output, unit in links.read_claims(sys.stdin.read(), base_url):
        said, code = "Claimed.", 0
        try:
            if shell.exit_code == terminal.NO_ANSWER:
                raise WalletError("not_tried", "Not tried yet: claim it again.")
            shell.check_origin(output.item_id, yes=yes)
            shell.wallet.claim(output, unit)
        except DeedsError as error:
            said, code = terminal.outcome(error)
        shell.exit_code = max(shell.exit_code, code)
        rows.append({"itemId": output.item_id, "amount": output.amount, "said": said})
    return rows


@_command(_deed, click.Argument(["amounts"], type=int, nargs=-1, required=True))
def split(shell: Terminal, deed: str, amounts: Sequence[int]) -> Record:
    """Split a DEED into parts of these AMOUNTS; the rest stays together."""
    return shell.wallet.split(deed, amounts)


@_command(_deed)
def merge(shell: Terminal, deed: str) -> Record:
    """Join the parts of a DEED that are free, as many as the service takes at once."""
    return shell.wallet.merge(deed)


@_command(_what, _numbers, _yes, name="take-back")
def take_back(shell: Terminal, what: str, numbers: Sequence[int], *, yes: bool) -> list[Record]:
    """Take back links that nobody has claimed, all or these NUMBERS; or end a trade."""
    wallet, size = shell.wallet, shell.wallet.deeds.info().array_length_max
    changed, offers = wallet.check(), []
    if "offer_" in what:
        offer_id = links.read_offer(what, wallet.deeds.base_url)
        offers = [each for each in wallet.history() if each.get("offerId") == offer_id]
        keys = [key for offer in offers for key in offer["inputs"]]
    else:
        given = wallet.outputs(shell.find(what), "given")
        keys = [each["key"] for each in given if not numbers or each.get("number") in numbers]
    if len(keys) > 1:
        shell.sure(f"Take back {len(keys)} parts? Their links stop working.", yes=yes)
    starts = range(0, len(keys) or 1, size)
    taken = [wallet.take_back(keys[start : start + size]) for start in starts]
    # Without its inputs a trade has ended.
    return [*taken, *(wallet.finish(offer["key"]) for offer in offers), *changed]


@_command(_amount, _deed)
def ask(shell: Terminal, amount: int, deed: str) -> Record:
    """Ask for AMOUNT units of a DEED: anybody who has the link can pay."""
    return shell.wallet.ask(deed, amount)


@_command(_amount, _deed, click.Argument(["wanted_amount"], type=int), _Deed(["wanted"]))
def trade(shell: Terminal, amount: int, deed: str, wanted_amount: int, wanted: str) -> Record:
    """Offer AMOUNT units of a DEED for units of another, WANTED."""
    return shell.wallet.trade((deed, amount), (wanted, wanted_amount))


@_command(click.Argument(["offer"]), _yes)
def complete(shell: Terminal, offer: str, *, yes: bool) -> Record:
    """Pay what an OFFER asks for, its link or id; or trade as it proposes."""
    deeds = shell.wallet.deeds
    found = deeds.offer(links.read_offer(offer, deeds.base_url))
    for each in found.gives:
        shell.check_origin(each.item_id, yes=yes)
    sides = [
        " and ".join(f"{each.amount} {shell.title_of(each.item_id)}" for each in side)
        for side in (found.wants, found.gives)
    ]
    shell.sure(f"You give {' for '.join(filter(None, sides))}. Go on?", yes=yes)
    return shell.wallet.complete(found)


@_command()
def history(shell: Terminal) -> list[Record]:
    """Show what was done, the latest first."""
    return shell.wallet.history()


@_command()
def check(shell: Terminal) -> list[Record]:
    """Ask what was claimed and paid, and make the links that are still to be made."""
    with terminal.progress("Checking") as told:
        changed = shell.wallet.check(told)
    for item_id in shell.wallet.balance():
        while shell.wallet.make_links(item_id):
            pass
    return changed


@_command(_file)
def export(shell: Terminal, file: Path) -> Record:
    """Write the whole wallet to a new encrypted FILE, which the page reads too."""
    terminal.write_private(file, shell.wallet.export(terminal.read_passphrase(is_new=True)))
    return {"file": str(file)}


@_command(
    _file,
    click.Option(["--moved"], is_flag=True, help="Its service has this address now."),
    name="import",
)
def import_(shell: Terminal, file: Path, *, moved: bool) -> Record:
    """Take in the encrypted FILE of another wallet, or of the page."""
    text = file.read_text(encoding="utf-8", errors="replace")
    added, given = shell.wallet.restore(text, terminal.read_passphrase(), has_moved=moved)
    return {"added": len(added), "given": len(given)}
