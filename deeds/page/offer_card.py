"""What a page says of an offer before any script of it runs, and what a link to it unfolds as."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deeds.domain.model import Offer, OfferState, Units
from deeds.page.card import DeedCard, units_text

# As many deeds of a side are named, and their cards read; texts/offers.js names as many.
NAMED_COUNT_MAX = 2

_ENDS = {
    OfferState.COMPLETED: ("Paid", "Traded"),
    OfferState.VOID: ("Withdrawn", "Withdrawn"),
    OfferState.EXPIRED: ("Expired", "Expired"),
}


@dataclass(frozen=True, slots=True)
class OfferCard:
    """An offer in words for those who may complete it, and its deeds: first what it wants."""

    title: str
    summary: str
    deeds: tuple[DeedCard, ...]


def offer_card(offer: Offer, read_card: Callable[[str], DeedCard]) -> OfferCard:
    """Return the card of an offer; `read_card` is asked for few deeds, however many there are."""
    named = [*offer.wants[:NAMED_COUNT_MAX], *offer.gives[:NAMED_COUNT_MAX]]
    cards = {each.item_id: read_card(each.item_id) for each in named}
    given, got = (_side_text(side, cards) for side in (offer.wants, offer.gives))
    if offer.state in _ENDS:
        title = f"{_ENDS[offer.state][bool(got)]}: {given}{got and f' for {got}'}"
        summary = "Nothing can be done with this link any more."
    else:
        title = f"You give {given} and get {got}" if got else f"Pay {given}"
        summary = f"Open the link to see it. Until {offer.expires_at:%d %B %Y, %H:%M} UTC."
    return OfferCard(title, summary, tuple(cards.values()))


def _side_text(side: Sequence[Units], cards: Mapping[str, DeedCard]) -> str:
    first, more = side[:NAMED_COUNT_MAX], len(side) - NAMED_COUNT_MAX
    named = [f"{units_text(each.amount)} of {cards[each.item_id].quoted}" for each in first]
    return " and ".join([*named, *([f"{more} more deed{'s' * (more > 1)}"] if more > 0 else [])])
