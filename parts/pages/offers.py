"""Cards of open offers, which pages show before any script runs.

This part must not import the offers part, so it declares the attributes of an offer
that it needs.
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

# Deeds that are named on each side, the same number as in js/texts.js.
NAMED_COUNT_MAX = 2


class Offer(Protocol):
    """The maker's half of a swap, which spends `inputs` and creates `outputs`.

    It can be completed while its state is "open". `expires_at_s` is in seconds since
    1970-01-01 UTC.
    """

    state: str
    expires_at_s: int
    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class OfferCard:
    """An offer in words, for its completer. `deeds` begins with those it wants."""

    title: str
    summary: str
    deeds: tuple[DeedCard, ...]


def offer_card(offer: Offer, read_card: Callable[[str], DeedCard]) -> OfferCard:
    """Return the card of an open offer.

    `read_card` is called for NAMED_COUNT_MAX deeds of each side at most.
    """
    # Pairs of item id and amount, in the same order as in the API.
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
