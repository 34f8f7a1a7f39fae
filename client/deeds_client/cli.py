"""The commands of `deeds-wallet`, each a function of the wallet.

Those of offers are in `cli_offers`. No secret is read from arguments.
"""

import hashlib
from pathlib import Path

import click

from deeds_client import cli_offers, links
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
from deeds_client.errors import DeedsError, InvalidInputError
from deeds_client.file import new_file
from deeds_client.links import Sent
from deeds_client.records import IN_A_HOLDING, now
from deeds_client.rows import Row, row_of
from deeds_client.terminal import read_passphrase, read_text, say, service
from deeds_client.values import OutputState
from deeds_client.wallet import Wallet

__all__ = ["cli_offers", "main"]

_RESTORED = (
    "Restored. What was moved since is looked for. Should that be broken off, the next"
    " command goes on with it."
)
_NEVER_MADE = "This service never made this link, or it was changed."
_OF_LINKS = {
    "spent_input": "Already claimed. If it wasn't you, ask the sender.",
    "unknown_input": _NEVER_MADE,
    "unknown_item": _NEVER_MADE,
}
_MINT_EXAMPLES = """\b
Examples:
  deeds-wallet mint "Night Choir" 10
  deeds-wallet mint Concert --count 200 --csv tickets.csv
"""


@main.command(cls=MintCommand, epilog=_MINT_EXAMPLES)
@click.argument("name")
@amounts
@click.option("--count", type=click.IntRange(1, 100_000), help="Make so many links.")
@click.option("--each", type=click.IntRange(1), default=1, help="Units of each link.")
@click.option("--csv", "file", type=FILE, help="A new file. Broken off, run it again.")
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

    The links go into the new file of --csv.
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
    made: list[Sent] = []
    try:
        with new_file(file) as opened:
            if wallet.find(reference):
                say("The same command has begun these links. It goes on with them.")
            made = wallet.issue(count, each, reference=reference, metadata=metadata)
            # As the page writes them for spreadsheets. Nothing in a link needs quotes.
            opened.write("\ufeffnumber,units,link,note\r\n")
            for sent in made:
                row = f"{sent.output.number},{sent.output.amount},{sent.link},"
                opened.write(f"{row}\r\n")
    except InvalidInputError:
        if made:
            # Another process may have written the same file meanwhile.
            say(f"The links are made: --reference {reference} writes another file.")
        raise
    return Result([{"amount": len(made), "file": str(file)}])


@main.command(epilog='Example: deeds-wallet send 3 "Night Choir"')
@amount
@deed
@reference
@note
def send(wallet: Wallet, amount: int, item_id: str, **about: str | None) -> Result:
    """Make a link of AMOUNT units, to give away."""
    return Result([wallet.send(item_id, amount, **about).output])


@main.command()
@deed
@amounts
def split(wallet: Wallet, item_id: str, amounts: tuple[int, ...]) -> Result:
    """Split a DEED into AMOUNTS and a rest."""
    return Result([wallet.split(item_id, amounts)])


@main.command()
@deed
def merge(wallet: Wallet, item_id: str) -> Result:
    """Join the free parts of a DEED, as many as fit."""
    return Result([wallet.merge(item_id)])


@main.command()
def claim(wallet: Wallet) -> Result:
    """Make the units of links yours. The links are read from standard input."""
    text = read_text("Paste the links, then press Enter and Ctrl-D:")
    rows: list[Row] = []
    worst = 0
    for output in links.read_claims(text, service().base_url):
        said = "Claimed."
        try:
            wallet.claim(output)
        except DeedsError as error:
            said, code = outcome(error)
            said = _OF_LINKS.get(getattr(error, "code", ""), said)
            worst = max(worst, code)
        rows.append({"itemId": output.item_id, "amount": output.amount, "said": said})
    return Result(rows, code=worst)


@main.command()
@deed
@click.argument("numbers", type=int, nargs=-1)
def take_back(wallet: Wallet, item_id: str, numbers: tuple[int, ...]) -> Result:
    """Take back links that nobody has claimed, all or these NUMBERS."""
    wallet.sync()
    given = wallet.outputs(item_id, OutputState.GIVEN)
    if numbers:
        given = [output for output in given if output.number in numbers]
    size = service().info().array_length_max
    done = []
    # Of none an empty batch says so.
    for start in range(0, len(given) or 1, size):
        try:
            done.append(wallet.take_back(given[start : start + size]))
        except DeedsError as error:
            if not done:
                raise
            said, code = outcome(error)
            say(f"Of the others: {said}")
            return Result(done, code=code)
    return Result(done)


@main.command()
@click.argument("item_id", metavar="[DEED]", required=False)
def balance(wallet: Wallet, item_id: str | None) -> Result:
    """Show what is in the wallet.

    Of a DEED its parts, with the links that are given out.
    """
    _tell_of_backups(wallet)
    if item_id:
        return Result(wallet.outputs(item_id, *IN_A_HOLDING))
    return Result(list(wallet.balance().values()))


def _tell_of_backups(wallet: Wallet) -> None:
    """Say so while a restore would not bring back every deed."""
    count = sum(not holding.in_backup for holding in wallet.balance().values())
    if count:
        say(f"Deeds that are in no backup: {count}. See deeds-wallet export.")


@main.command()
def history(wallet: Wallet) -> Result:
    """Show what was done, the latest first."""
    return Result(wallet.history())


@main.command(cls=OfflineCommand)
@deed
@click.option("--number", type=int, help="The link of this number.")
def show(wallet: Wallet, item_id: str, number: int | None) -> Result:
    """Show the code of what is held of a DEED, for the door. Works offline.

    Of several parts each has its turn, the lowest number first.
    """
    shown = wallet.show(item_id, number)
    return Result([row_of(wallet, shown.output) | {"link": shown.link}])


@main.command()
def check(wallet: Wallet) -> Result:
    """Ask what was claimed and paid, and show what has changed."""
    return Result(wallet.sync())


@main.command()
def look(wallet: Wallet) -> Result:
    """Look again for what other copies of this wallet have moved."""
    return Result(wallet.sync(look=True))


@main.command()
@click.argument("file", type=FILE)
def export(wallet: Wallet, file: Path) -> Result:
    """Write the whole wallet to a new encrypted FILE.

    The page reads it too.
    """
    wallet.export(file, read_passphrase(is_new=True))
    return Result([{"file": str(file)}])


@main.command("import")
@click.argument("file", type=FILE)
@click.option("--own", is_flag=True, help="It is your own, to go on with.")
def import_(wallet: Wallet, file: Path, *, own: bool) -> Result:
    """Take in an encrypted FILE, and look for what moved since.

    The file is of a wallet or of the page.
    """
    added = wallet.restore(file, read_passphrase(), own=own)
    given = [each for each in added if each.may_be_given]
    say(_RESTORED)
    begun_at = now()
    changed = wallet.sync(look=True)
    found = [each for each in changed if each.found_at and each.found_at >= begun_at]
    return Result([{"added": len(added), "given": len(given), "found": len(found)}])
