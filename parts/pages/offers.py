"""What a page shows of an open offer before any script runs.

Offers are of another part: here is only what of them is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from babel.lists import format_list
from flask_babel import format_datetime, get_locale, gettext, ngettext

from deeds.model import Output
from deeds.rules import units
from parts.pages.card import DeedCard

# As many deeds of a side are named, and their cards read; js/texts.js names as many.
NAMED_COUNT_MAX = 2


class Offer(Protocol):
    """The maker's half of a swap, which spends `inputs` and creates `outputs`.

    It can be completed while its state is "open", until a second since 1970-01-01 UTC.
    """

    state: str
    expires_at_s: int
    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class OfferCard:
    """An offer in words for those who may complete it; first the deeds it wants."""

    title: str
    summary: str
    deeds: tuple[DeedCard, ...]


def offer_card(offer: Offer, read_card: Callable[[str], DeedCard]) -> OfferCard:
    """Return the card of an open offer.

    `read_card` is asked for few deeds, however many there are.
    """
    # Amounts by item ids, in the order of the interface's answers.
    wants = sorted((units(offer.outputs) - units(offer.inputs)).items())
    gives = sorted((units(offer.inputs) - units(offer.outputs)).items())
    named = [*wants[:NAMED_COUNT_MAX], *gives[:NAMED_COUNT_MAX]]
    cards = {item_id: read_card(item_id) for item_id, _ in named}
    price, goods = _side_text(wants, cards), _side_text(gives, cards)
    title = gettext("Pay %(price)s", price=price)
    if gives:
        title = gettext(
            "You give %(price)s and get %(goods)s", price=price, goods=goods
        )
    expires_at = datetime.fromtimestamp(offer.expires_at_s, UTC)
    summary = gettext(
        "Open the link to see the offer. Valid until %(time)s UTC.",
        time=format_datetime(expires_at, "d MMMM y, HH:mm"),
    )
    return OfferCard(title, summary, tuple(cards.values()))


def _side_text(side: Sequence[tuple[str, int]], cards: Mapping[str, DeedCard]) -> str:
    texts = [cards[item_id].part(amount) for item_id, amount in side[:NAMED_COUNT_MAX]]
    more = len(side) - NAMED_COUNT_MAX
    if more > 0:
        texts.append(ngettext("%(num)d more deed", "%(num)d more deeds", more))
    return format_list(texts, locale=get_locale())
