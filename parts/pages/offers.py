"""What a page shows of an offer before any script runs.

Offers are of another part: here is only what of them is needed.
"""

from collections import Counter
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
    """The maker's half of a swap, that expires at a second since 1970-01-01 UTC."""

    @property
    def state(self) -> str:
        """Return "open", "completed", "void" or "expired"."""

    @property
    def expires_at_s(self) -> int:
        """Return when it can no longer be completed."""

    @property
    def inputs(self) -> tuple[Output, ...]:
        """Return what the maker spends."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Return what the maker gets."""


class Offers(Protocol):
    """Reads offers."""

    def read(self, offer_id: str) -> Offer:
        """Return the offer as it is now; raise a DeedError where there is none."""


@dataclass(frozen=True, slots=True)
class OfferCard:
    """An offer in words for those who may complete it; first the deeds it wants."""

    title: str
    summary: str
    deeds: tuple[DeedCard, ...]


def offer_card(offer: Offer, read_card: Callable[[str], DeedCard]) -> OfferCard:
    """Return the card of an offer.

    `read_card` is asked for few deeds, however many there are.
    """
    wants = _in_order(units(offer.outputs) - units(offer.inputs))
    gives = _in_order(units(offer.inputs) - units(offer.outputs))
    named = [*wants[:NAMED_COUNT_MAX], *gives[:NAMED_COUNT_MAX]]
    cards = {item_id: read_card(item_id) for item_id, _ in named}
    summary = gettext("Nothing can be done with this link any more.")
    if offer.state == "open":
        expires_at = datetime.fromtimestamp(offer.expires_at_s, UTC)
        summary = gettext(
            "Open the link to see it. Until %(time)s UTC.",
            time=format_datetime(expires_at, "d MMMM y, HH:mm"),
        )
    titles = _trade_titles() if gives else _payment_titles()
    sides = {"wanted": _side_text(wants, cards), "given": _side_text(gives, cards)}
    return OfferCard(titles[offer.state] % sides, summary, tuple(cards.values()))


def _in_order(amounts: Counter[str]) -> list[tuple[str, int]]:
    """Return amounts by item ids, as the interface answers them."""
    return sorted(amounts.items())


def _trade_titles() -> dict[str, str]:
    return {
        "open": gettext("You give %(wanted)s and get %(given)s"),
        "completed": gettext("Traded: %(wanted)s for %(given)s"),
        "void": gettext("Withdrawn: %(wanted)s for %(given)s"),
        "expired": gettext("Expired: %(wanted)s for %(given)s"),
    }


def _payment_titles() -> dict[str, str]:
    return {
        "open": gettext("Pay %(wanted)s"),
        "completed": gettext("Paid: %(wanted)s"),
        "void": gettext("Withdrawn: %(wanted)s"),
        "expired": gettext("Expired: %(wanted)s"),
    }


def _side_text(side: Sequence[tuple[str, int]], cards: Mapping[str, DeedCard]) -> str:
    named = [cards[item_id].part(amount) for item_id, amount in side[:NAMED_COUNT_MAX]]
    more = len(side) - NAMED_COUNT_MAX
    if more > 0:
        named.append(ngettext("%(num)d more deed", "%(num)d more deeds", more))
    return format_list(named, locale=get_locale())
