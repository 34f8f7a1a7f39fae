"""Commands that make offers, complete and end them."""

import re
from collections.abc import Sequence

import click

from deeds_client import links
from deeds_client.commands import (
    Result,
    amount,
    deed,
    find,
    is_json,
    main,
    note,
    reference,
    show,
)
from deeds_client.errors import InvalidInputError, WalletError
from deeds_client.records import MAKINGS, Operation
from deeds_client.rows import title
from deeds_client.terminal import confirm, say, service
from deeds_client.values import OperationState, Units
from deeds_client.wallet import Wallet

_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

expires = click.option(
    "--expires", default="7d", help="How long it is open: seconds, 15m, 2h or 7d."
)


@main.command(epilog='Example: deeds-wallet ask 2 "Night Choir" --expires 15m --wait')
@amount
@deed
@expires
@click.option("--wait", is_flag=True, help="Wait until it is paid. Ctrl-C ends that.")
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
    """Ask for AMOUNT units of a DEED, by a link."""
    asked = wallet.ask(item_id, amount, _seconds(expires), **about)
    if wait and asked.state == OperationState.OPEN:
        if is_json():
            # A program reads one array, at the end.
            say(links.offer_link(service().base_url, asked.offer_id))
        else:
            show(wallet, Result([asked]))
        asked = wallet.wait_paid(asked)
    return _made(asked)


def _made(offer: Operation) -> Result:
    # It may have expired, while it was waited for or since it was made.
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
    """Offer AMOUNT units of a DEED for units of another, WANTED."""
    give = Units(item_id, amount)
    want = Units(find(wallet, wanted), wanted_amount)
    return _made(wallet.trade(give, want, _seconds(expires), **about))


@main.command()
@click.argument("offer")
@click.option("--yes", is_flag=True, help="Do not ask.")
@reference
@note
def complete(wallet: Wallet, offer: str, *, yes: bool, **about: str | None) -> Result:
    """Pay what an OFFER asks for, or trade as it proposes.

    An OFFER is named by its link or id.
    """
    found = service().offer(links.read_offer(offer, service().base_url))
    gives = _listed(wallet, found.wants)
    gets = _listed(wallet, found.gives) or "nothing"
    if not yes and not confirm(f"Give {gives} for {gets}?"):
        raise WalletError("not_confirmed", "Nothing was moved.")
    return Result([wallet.complete(found, **about)])


def _listed(wallet: Wallet, side: Sequence[Units]) -> str:
    return " and ".join(f"{each.amount} {title(wallet, each.item_id)}" for each in side)


@main.command()
@click.argument("offer")
def cancel(wallet: Wallet, offer: str) -> Result:
    """End an OFFER of yours, a request or a trade.

    An OFFER is named by its link or id.
    """
    offer_id = links.read_offer(offer, service().base_url)
    made = [
        operation
        for operation in wallet.history()
        if operation.offer_id == offer_id and operation.kind in MAKINGS
    ]
    if not made:
        raise WalletError("not_made", "This wallet did not make this offer.")
    ended = wallet.cancel(made[0])
    if ended.state == OperationState.DONE:
        raise WalletError("offer_completed", "It was completed before.")
    return Result([ended])


def _seconds(text: str) -> int:
    """Return what --expires says in seconds."""
    match = re.fullmatch("([0-9]{1,9})([smhd]?)", text)
    if not match:
        raise InvalidInputError("--expires is a time such as 900, 15m, 2h or 7d.")
    return int(match[1]) * _UNITS_S[match[2]]
