"""The commands of `deeds-wallet`.

No command reads a secret from its arguments.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import click

from deeds_client import commands, links
from deeds_client.commands import (
    FILE,
    MintCommand,
    OfflineCommand,
    Result,
    amount,
    amounts,
    deed,
    main,
    note,
    outcome,
    reference,
    token_file,
)
from deeds_client.errors import DeedsError, InvalidInputError, WalletError
from deeds_client.file import new_file
from deeds_client.links import Sent
from deeds_client.records import MAKINGS, Operation, now
from deeds_client.rows import Row, row_of, title
from deeds_client.settling import AT_REST
from deeds_client.terminal import confirm, read_passphrase, read_text, say, service
from deeds_client.values import OperationState, OutputState, Units
from deeds_client.wallet import Wallet

__all__ = ["main"]

_RESTORED = (
    "Restored. Searching for units that moved since. If this is interrupted, the next"
    " command continues."
)
_NEVER_MADE = "This service never made this link, or it was changed."
_CLAIM_MESSAGES = {
    "spent_input": "Already claimed. If it wasn't you, ask the sender.",
    "unknown_input": _NEVER_MADE,
    "unknown_item": _NEVER_MADE,
}
_MINT_EXAMPLES = """\b
Examples:
  deeds-wallet mint "Night Choir" 10
  deeds-wallet mint Concert --count 200 --csv tickets.csv
"""
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

expires = click.option(
    "--expires", default="7d", help="How long it stays open: seconds, 15m, 2h or 7d."
)


@main.command(cls=MintCommand, epilog=_MINT_EXAMPLES)
@click.argument("name")
@amounts
@click.option("--count", type=click.IntRange(1, 100_000), help="Number of links.")
@click.option("--each", type=click.IntRange(1), default=1, help="Units of each link.")
@click.option("--csv", "file", type=FILE, help="A new file; if interrupted, run again.")
@token_file
@reference
@note
def mint(
    wallet: Wallet,
    name: str,
    amounts: tuple[int, ...],
    count: int | None,
    each: int,
    file: Path | None,
    **about: str | None,
) -> Result:
    """Create a deed in parts of these AMOUNTS, or as --count links.

    The links are written to the new file of --csv.
    """
    metadata = {"name": name}
    if not count and not file and each == 1:
        return Result([wallet.mint(amounts, metadata=metadata, **about)])
    if not count or not file:
        raise InvalidInputError("Links need --count and --csv, a new file for them.")
    if amounts or about["note"]:
        raise InvalidInputError("Links have no AMOUNTS and no --note: use --each.")
    job = ascii((str(file), count, each, name)).encode()
    reference = about["reference"] or hashlib.sha256(job).hexdigest()[:16]
    series: list[Sent] = []
    try:
        with new_file(file) as opened:
            if wallet.find(reference):
                say("The same command has begun these links. It continues with them.")
            series = wallet.issue(count, each, reference=reference, metadata=metadata)
            # The page's format for spreadsheets. Nothing in a link needs quotes.
            opened.write("\ufeffnumber,units,link,note\r\n")
            for sent in series:
                row = f"{sent.output.number},{sent.output.amount},{sent.link},"
                opened.write(f"{row}\r\n")
    except InvalidInputError:
        if series:
            # Another process may have written the same file meanwhile.
            say(f"The links are made: --reference {reference} writes another file.")
        raise
    return Result([{"amount": len(series), "file": str(file)}])


@main.command(epilog='Example: deeds-wallet send 3 "Night Choir"')
@amount
@deed
@reference
@note
def send(wallet: Wallet, amount: int, item_id: str, **about: str | None) -> Result:
    """Make a link of AMOUNT units to give away."""
    return Result([wallet.send(item_id, amount, **about).output])


@main.command()
@deed
@amounts
def split(wallet: Wallet, item_id: str, amounts: tuple[int, ...]) -> Result:
    """Split units of a DEED into parts of these AMOUNTS."""
    return Result([wallet.split(item_id, amounts)])


@main.command()
@deed
def merge(wallet: Wallet, item_id: str) -> Result:
    """Join parts of a DEED, as many as one request takes."""
    return Result([wallet.merge(item_id)])


@main.command()
def claim(wallet: Wallet) -> Result:
    """Claim the units of links. The links are read from standard input."""
    text = read_text("Paste the links, then press Enter and Ctrl-D:")
    rows: list[Row] = []
    worst = 0
    for output in links.read_claims(text, service().base_url):
        said = "Claimed."
        try:
            wallet.claim(output)
        except DeedsError as error:
            said, code = outcome(error)
            said = _CLAIM_MESSAGES.get(error.code, said)
            worst = max(worst, code)
        rows.append({"itemId": output.item_id, "amount": output.amount, "said": said})
    return Result(rows, code=worst)


@main.command()
@deed
@click.argument("numbers", type=int, nargs=-1)
def take_back(wallet: Wallet, item_id: str, numbers: tuple[int, ...]) -> Result:
    """Take back unclaimed links, all or those with these NUMBERS."""
    wallet.sync()
    given = wallet.outputs(item_id, OutputState.GIVEN)
    if numbers:
        given = [output for output in given if output.number in numbers]
    size = service().info().array_length_max
    operations = []
    # Without links, one empty batch raises the error.
    for start in range(0, len(given) or 1, size):
        try:
            operations.append(wallet.take_back(given[start : start + size]))
        except DeedsError as error:
            if not operations:
                raise
            message, code = outcome(error)
            say(f"Of the others: {message}")
            return Result(operations, code=code)
    return Result(operations)


@main.command(epilog='Example: deeds-wallet ask 2 "Night Choir" --expires 15m --wait')
@amount
@deed
@expires
@click.option("--wait", is_flag=True, help="Wait for payment. Ctrl-C stops waiting.")
@reference
@note
def ask(
    wallet: Wallet,
    amount: int,
    item_id: str,
    expires: str,
    *,
    wait: bool,
    **about: str | None,
) -> Result:
    """Request AMOUNT units of a DEED, and print the link."""
    offer = wallet.ask(item_id, amount, _seconds(expires), **about)
    if wait and offer.state == OperationState.OPEN:
        if commands.option("is_json"):
            # Standard output has one array only, printed at the end.
            say(links.offer_link(service().base_url, offer.offer_id))
        else:
            commands.show(wallet, Result([offer]))
        offer = wallet.wait_paid(offer)
    return _result_of(offer)


def _result_of(offer: Operation) -> Result:
    # The offer may have expired during the wait or since an earlier run.
    return Result([offer], code=1 if offer.state == OperationState.REFUSED else 0)


@main.command(epilog='Example: deeds-wallet trade 2 Cider 1 "Night Choir"')
@amount
@deed
@click.argument("wanted_amount", type=int)
@click.argument("wanted")
@expires
@reference
@note
def trade(
    wallet: Wallet,
    amount: int,
    item_id: str,
    wanted_amount: int,
    wanted: str,
    expires: str,
    **about: str | None,
) -> Result:
    """Offer AMOUNT units of a DEED for units of the deed WANTED."""
    give = Units(item_id, amount)
    want = Units(commands.find(wallet, wanted), wanted_amount)
    return _result_of(wallet.trade(give, want, _seconds(expires), **about))


@main.command()
@click.argument("offer")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@reference
@note
def complete(wallet: Wallet, offer: str, *, yes: bool, **about: str | None) -> Result:
    """Pay a payment request, or accept a trade.

    OFFER is a link or an id.
    """
    current = service().offer(links.read_offer(offer, service().base_url))
    gives = _text_of(wallet, current.wants)
    gets = _text_of(wallet, current.gives) or "nothing"
    if not yes and not confirm(f"Give {gives} for {gets}?"):
        raise WalletError("not_confirmed", "Nothing was moved.")
    return Result([wallet.complete(current, **about)])


def _text_of(wallet: Wallet, side: Sequence[Units]) -> str:
    """Return one side of an offer, for example 2 “Night Choir” 7kq2·m9xd."""
    return " and ".join(f"{part.amount} {title(wallet, part.item_id)}" for part in side)


@main.command()
@click.argument("offer")
def cancel(wallet: Wallet, offer: str) -> Result:
    """Cancel a payment request or a trade of this wallet.

    OFFER is a link or an id.
    """
    offer_id = links.read_offer(offer, service().base_url)
    offers = [
        operation
        for operation in wallet.history()
        if operation.offer_id == offer_id and operation.kind in MAKINGS
    ]
    if not offers:
        raise WalletError("not_made", "This wallet did not make this offer.")
    operation = wallet.cancel(offers[0])
    if operation.state == OperationState.DONE:
        raise WalletError("offer_completed", "It was completed before.")
    return Result([operation])


def _seconds(text: str) -> int:
    """Return the value of --expires in seconds."""
    match = re.fullmatch("([0-9]{1,9})([smhd]?)", text)
    if not match:
        raise InvalidInputError("--expires is a time such as 900, 15m, 2h or 7d.")
    return int(match[1]) * _UNITS_S[match[2]]


@main.command()
@click.argument("item_id", metavar="[DEED]", required=False)
def balance(wallet: Wallet, item_id: str | None) -> Result:
    """Show the units in the wallet.

    With a DEED, show its parts and the links that were handed out.
    """
    holdings = list(wallet.balance().values())
    # A restore would not find these.
    count = sum(not holding.in_backup for holding in holdings)
    if count:
        say(f"Deeds that are in no backup: {count}. See deeds-wallet export.")
    if item_id:
        return Result(wallet.outputs(item_id, *AT_REST, OutputState.COMING))
    return Result(holdings)


@main.command()
def history(wallet: Wallet) -> Result:
    """Show all operations, latest first."""
    return Result(wallet.history())


@main.command(cls=OfflineCommand)
@deed
@click.option("--number", type=int, help="Show the link with this number.")
def show(wallet: Wallet, item_id: str, number: int | None) -> Result:
    """Show a DEED's code for the door. Works offline.

    If there are several, each run shows another one, starting with the lowest number.
    """
    ticket = wallet.show(item_id, number)
    return Result([row_of(wallet, ticket.output) | {"link": ticket.link}])


@main.command()
def check(wallet: Wallet) -> Result:
    """Check what was claimed and paid, and show what has changed."""
    return Result(wallet.sync())


@main.command()
def look(wallet: Wallet) -> Result:
    """Search for units that other copies of this wallet have moved."""
    return Result(wallet.sync(look=True))


@main.command()
@click.argument("file", type=FILE)
def export(wallet: Wallet, file: Path) -> Result:
    """Write the whole wallet to a new encrypted FILE.

    Choose a passphrase of at least four random words, never digits only. The web page
    reads the file too.
    """
    wallet.export(file, read_passphrase(is_new=True))
    return Result([{"file": str(file)}])


@main.command("import")
@click.argument("file", type=FILE)
@click.option("--own", is_flag=True, help="Your own file: continue with its seed.")
def import_(wallet: Wallet, file: Path, *, own: bool) -> Result:
    """Restore an encrypted FILE, and search for what moved since.

    The file was written by `export` or by the web page.
    """
    new = wallet.restore(file, read_passphrase(), own=own)
    given = [output for output in new if output.may_be_given]
    say(_RESTORED)
    begun_at = now()
    changed = wallet.sync(look=True)
    found = [one for one in changed if one.found_at and one.found_at >= begun_at]
    return Result([{"added": len(new), "given": len(given), "found": len(found)}])
