"""`deeds-wallet`: the wallet for the terminal.

Other programs can read arguments and the environment, so no secret is taken from there: links and
passphrases come from standard input or a prompt.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from rich.table import Column, Table

from deeds_client import errors, links, terminal
from deeds_client.errors import InvalidInputError, WalletError
from deeds_client.terminal import Terminal
from deeds_client.values import Units

_VERSION = "0.1.0"
_POLL_S = 2.0
_GROUPS = ("free", "given", "offered", "coming", "set aside", "claimed", "lost", "unknown")
_FILE = click.Path(dir_okay=False, path_type=Path, resolve_path=True)
_HOME = Path(click.get_app_dir("deeds-wallet")) / "wallet.sqlite3"

_amount = click.argument("amount", type=int)
_deed = click.argument("deed", type=terminal.Deed())
_file = click.argument("file", type=_FILE)
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(cls=terminal.Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--wallet", "path", type=_FILE, envvar="DEEDS_WALLET", default=_HOME, help="The wallet's file."
)
@click.option("--url", envvar="DEEDS_URL", default="", help="The service of a new wallet.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON, for programs.")
@click.version_option(_VERSION)
@click.pass_context
def main(context: click.Context, /, **options: Any) -> None:
    """Hold deeds, and hand them over by links that work once.

    A DEED is named by its name or id, the beginning of either, its mark, or a link to its page.
    """
    context.obj = Terminal(context, **options)


def _command(*parameters: Callable[[Any], Any], name: str | None = None) -> Callable[[Any], Any]:
    """Make a command of a function of the terminal and these parameters."""

    def make(function: Callable[..., None]) -> click.Command:
        command = click.make_pass_decorator(Terminal)(function)
        for parameter in reversed(parameters):
            command = parameter(command)
        return main.command(name)(command)

    return make


@_command(
    click.argument("name"),
    click.argument("amounts", type=int, nargs=-1),
    click.option("--count", type=int, default=0, help="Make so many numbered links."),
    click.option("--each", type=int, default=1, help="Units of each link."),
    click.option("--description", default=""),
    click.option("--image", default="", help="The address of a picture."),
    click.option("--csv", "file", type=_FILE, help="Write the links to this new file."),
)
def mint(shell: Terminal, amounts: Sequence[int], **options: Any) -> None:
    """Create a deed, in parts of these AMOUNTS or in numbered links.

    With --csv, the same command goes on with what was begun, and creates no second deed.
    """
    file, count, each = (options[name] for name in ("file", "count", "each"))
    if bool(amounts) == bool(count) or (file and amounts):
        raise InvalidInputError("Say amounts, or --count and --each; --csv is for links.")
    metadata = {name: options[name] for name in ("name", "description", "image") if options[name]}
    if file:
        _issue(shell, file, count, each, metadata)
        return
    series = (count, each) if count else None
    operation = shell.wallet.mint(amounts, links=series, metadata=metadata)
    if series:
        _make_links(shell, operation["itemId"])
    shell.show_operation(operation)


def _issue(shell: Terminal, file: Path, count: int, each: int, metadata: dict[str, str]) -> None:
    """Make numbered links and write them to a file, or go on with that."""
    job = json.dumps([str(file), count, each, metadata])
    with shell.wallet.store.transaction() as records:
        minting = records.get("notes", f"job {job}").get("operation", "")
        item_id = records.get("operations", minting).get("itemId", "no deed")
    if file.exists() and item_id not in file.read_text(encoding="utf-8", errors="replace"):
        raise InvalidInputError(f"There is a file {file.name} already. Choose another.")
    with shell.progress("Making links") as told:
        outputs = shell.wallet.issue(job, count, each, metadata, told)
    if not file.exists():
        shell.write(file, shell.csv_of(outputs))
    said = f"The links of “{terminal.plain(metadata['name'])}” are in {file}."
    shell.show({"file": str(file), "waiting": len(outputs)}, said)


def _make_links(shell: Terminal, *item_ids: str) -> None:
    """Make all links that mints have promised."""
    with shell.progress("Making links") as told:
        for item_id in item_ids:
            while batch := shell.wallet.make_links(item_id):
                first, count = batch["links"]["from"] - 1, batch["links"]["count"]
                told(first + len(batch["outputs"]), first + count)


@_command(click.argument("deed", type=terminal.Deed(), default=""))
def balance(shell: Terminal, deed: str) -> None:
    """Show what is in the wallet; of a DEED also the links that wait to be claimed."""
    sums = {key: units for key, units in shell.wallet.balance().items() if deed in ("", key)}
    held = {group for units in sums.values() for group in units}
    groups = [group for group in _GROUPS if group in held]
    columns = (Column(group.replace("given", "waiting"), justify="right") for group in groups)
    table = Table("", Column(no_wrap=True), *columns, box=None, pad_edge=False)
    for key, units in sums.items():
        amounts = (str(units[group]) for group in groups)
        table.add_row(shell.name_of(key), terminal.mark_of(key), *amounts)
    links_waiting = [
        {"number": each.get("number"), "amount": each["amount"], "link": shell.link_of(each)}
        for each in (shell.wallet.outputs(deed, "given") if deed else [])
    ]
    under_way = [each for each in shell.wallet.history() if each["state"] in ("begun", "open")]
    deeds = [
        {"itemId": key, "name": shell.name_of(key), **{group: units[group] for group in _GROUPS}}
        for key, units in sums.items()
    ]
    operations = list(map(terminal.data_of, under_way))
    data = {"deeds": deeds, "links": links_waiting, "underWay": operations}
    lines = [
        f"{each['number'] or '':>5}  {each['amount']:>5}  {each['link']}" for each in links_waiting
    ]
    what = table if sums else "There is nothing in this wallet."
    shell.show(data, what, *lines, *map(shell.text_of, under_way))


@_command(_amount, _deed)
def send(shell: Terminal, amount: int, deed: str) -> None:
    """Make a link of AMOUNT units of a DEED, to give away."""
    operation = shell.wallet.send(deed, amount)
    shell.show_operation(operation, shell.link_of(shell.wallet.outputs_of(operation)[0]))


@_command(click.argument("arguments", nargs=-1, metavar=""), _yes)
def claim(shell: Terminal, arguments: Sequence[str], *, yes: bool) -> None:
    """Make the units of links yours. The links are read from standard input."""
    if arguments:
        raise InvalidInputError(terminal.NO_SECRETS)
    base_url, code, rows = shell.wallet.deeds.base_url, 0, []
    text = terminal.read_lines("Paste the links, then an empty line:")
    for output, unit in links.read_claims(text, base_url):
        said = "Claimed."
        try:
            if code == terminal.NO_ANSWER:
                raise WalletError("not_tried", "Not tried yet: claim it again.")
            shell.check_origin(output.item_id, yes=yes)
            shell.wallet.claim(output, unit)
        except errors.DeedsError as error:
            said, code = terminal.error_text(error), max(code, terminal.exit_code(error))
        rows.append((output.item_id, output.amount, said))
    shell.show_rows(rows)
    shell.context.exit(code)


@_command(_deed, click.argument("amounts", type=int, nargs=-1, required=True))
def split(shell: Terminal, deed: str, amounts: Sequence[int]) -> None:
    """Split a DEED into parts of these AMOUNTS; the rest stays together."""
    shell.show_operation(shell.wallet.split(deed, amounts))


@_command(_deed)
def merge(shell: Terminal, deed: str) -> None:
    """Join the parts of a DEED that are free."""
    operation = shell.wallet.merge(deed)
    with suppress(WalletError):
        while True:
            operation = shell.wallet.merge(deed)
    shell.show_operation(operation)


@_command(
    click.argument("what", metavar="DEED|OFFER"),
    click.argument("numbers", type=int, nargs=-1),
    _yes,
    name="take-back",
)
def take_back(shell: Terminal, what: str, numbers: Sequence[int], *, yes: bool) -> None:
    """Take back links that nobody has claimed, all or these NUMBERS; or end a trade."""
    wallet, offers = shell.wallet, []
    if "offer_" in what:
        offer_id = links.read_offer(what, wallet.deeds.base_url)
        offers = [each for each in wallet.history() if each.get("offerId") == offer_id]
        keys = [key for each in offers for key in each["inputs"]]
        if offers and not keys:
            raise WalletError("no_units", "A payment request ends by itself. It holds no units.")
    else:
        given = wallet.outputs(shell.find(what), "given")
        keys = [each["key"] for each in given if not numbers or each.get("number") in numbers]
        if len(keys) > 1:
            shell.sure(f"Take back {len(keys)} links? They stop working.", yes=yes)
    size, operations = wallet.deeds.info().array_length_max, []
    for start in range(0, max(1, len(keys)), size):
        batch = keys[start : start + size]
        try:
            operations.append(wallet.take_back(batch))
        except errors.ProblemError:
            # What turns out to have been claimed is left out now.
            operations.append(wallet.take_back(batch))
    operations += [wallet.finish(each["key"]) for each in offers]
    shell.show(list(map(terminal.data_of, operations)), *map(shell.text_of, operations))


@_command(_amount, _deed, click.option("--wait", is_flag=True, help="Wait until it is paid."))
def ask(shell: Terminal, amount: int, deed: str, *, wait: bool) -> None:
    """Ask for AMOUNT units of a DEED: anybody who has the link can pay."""
    operation = shell.wallet.ask(deed, amount)
    shell.show_operation(operation)
    while wait and operation["state"] == "open":
        time.sleep(_POLL_S)
        with suppress(errors.NoAnswerError):
            operation = shell.wallet.finish(operation["key"])
    if wait:
        click.echo(shell.text_of(operation), err=True)
        shell.context.exit(0 if operation["state"] == "done" else terminal.REFUSED)


@_command(
    _amount,
    _deed,
    click.argument("wanted_amount", type=int),
    click.argument("wanted", type=terminal.Deed()),
)
def trade(shell: Terminal, amount: int, deed: str, wanted_amount: int, wanted: str) -> None:
    """Offer AMOUNT units of a DEED for units of another, WANTED."""
    shell.show_operation(shell.wallet.trade((deed, amount), (wanted, wanted_amount)))


@_command(click.argument("offer"), _yes)
def complete(shell: Terminal, offer: str, *, yes: bool) -> None:
    """Pay what an OFFER asks for, its link or id; or trade as it proposes."""
    deeds = shell.wallet.deeds
    found = deeds.offer(links.read_offer(offer, deeds.base_url))

    def told(side: Sequence[Units]) -> str:
        return " and ".join(shell.part_of(each.amount, each.item_id) for each in side)

    for each in found.gives:
        shell.check_origin(each.item_id, yes=yes)
    back = f" and get {told(found.gives)}" if found.gives else ""
    shell.sure(f"You give {told(found.wants)}{back}. Go on?", yes=yes)
    shell.show_operation(shell.wallet.complete(found))


@_command()
def history(shell: Terminal) -> None:
    """Show what was done, the latest first."""
    operations = shell.wallet.history()
    times = (terminal.time_text(each["begunAt"]) for each in operations)
    lines = map("  ".join, zip(times, map(shell.text_of, operations), strict=True))
    shell.show(list(map(terminal.data_of, operations)), *lines)


@_command()
def check(shell: Terminal) -> None:
    """Ask what was claimed and paid, and make the links that are still to be made."""
    with shell.progress("Checking") as told:
        changed = shell.wallet.check(told)
    _make_links(shell, *shell.wallet.balance())
    shell.show_rows([(each["itemId"], each["amount"], terminal.news_of(each)) for each in changed])


@_command(_file, click.option("--force", is_flag=True, help="Replace the file."))
def export(shell: Terminal, file: Path, *, force: bool) -> None:
    """Write the whole wallet to an encrypted FILE, which the page reads too."""
    if file.exists() and not force:
        raise InvalidInputError(f"There is a file {file.name} already: --force replaces it.")
    text = shell.wallet.export(terminal.read_passphrase(is_new=True))
    shell.write(file, text, force=force)
    shell.show({"file": str(file)}, f"Written to {file}.")


@_command(_file, name="import")
def import_(shell: Terminal, file: Path) -> None:
    """Take in the encrypted FILE of another wallet, or of the page."""
    text = file.read_text(encoding="utf-8", errors="replace")
    merged = shell.wallet.restore(text, terminal.read_passphrase())
    added, given = len(merged.added), len(merged.given)
    said = f"{added} parts are new here; {given} of them count as handed out."
    shell.show({"added": added, "given": given}, said)
