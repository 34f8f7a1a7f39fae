"""The endpoints, and what each is called in the limits and the metrics.

An endpoint is added here, and a test fails while it has no view, no operation in the
OpenAPI document or no line in the documents. Imports nothing of ours.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint at a path, which is written as Flask does.

    `kind` is what the metrics count its requests as. `limit` is what DEEDS_RATE_LIMITS
    calls its limit, which it may share with others. Either may be empty.
    """

    path: str
    kind: str = ""
    limit: str = ""


MINT = Endpoint("/v1/mint", "mint", "mint")
SWAP = Endpoint("/v1/swap", "swap", "swap")
CHECK = Endpoint("/v1/check", "check", "check")
FIND = Endpoint("/v1/find", "find", "check")
ITEM = Endpoint("/v1/item/<item_id>", "item", "item")
INFO = Endpoint("/v1/info", "info")
OFFERS = Endpoint("/v1/offers", "offer", "offer")
OFFER = Endpoint("/v1/offers/<offer_id>", "read_offer", "item")
COMPLETION = Endpoint("/v1/offers/<offer_id>/complete", "complete", "swap")

# Those of the pages that are counted. A page of an item or offer is no refusal where
# its client is over the limit: it counts as a read by itself.
ITEM_PAGE = Endpoint("/item/<item_id>", "item")
QR_CODES = Endpoint("/web/qr", limit="qr")

_INTERFACE = (MINT, SWAP, CHECK, FIND, ITEM, INFO, OFFERS, OFFER, COMPLETION)

ENDPOINTS = {each.path: each for each in (*_INTERFACE, ITEM_PAGE, QR_CODES)}

LIMIT_NAMES = tuple(
    dict.fromkeys(each.limit for each in ENDPOINTS.values() if each.limit)
)
