"""Texts, parameters and examples of the OpenAPI document.

No id or secret in them is real.
"""

import json
from typing import Any

from deeds.domain.model import IDEMPOTENCY_KEY_LENGTH_MAX

DESCRIPTION = """\
Issues deeds: items divided into units. Units belong to the person who knows their secret.

- **Mint** creates an item and binds its units to secrets.
- **Swap** replaces secrets by new ones: it hands over, splits, joins and trades.
- **Check** tells whether outputs are still unspent.
- **Item** reads the total and the metadata of an item.
- **Offers** are halves of swaps that others complete: trades and payment requests.

Swap what you receive at once, to a secret that only you know.

Every error is a [problem](/problems) (RFC 9457) with a stable `code`. Any other path is answered
404 `not_found`, any other method 405 `method_not_allowed` with the header `Allow`.
"""

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes the request safe to repeat: with the same key the same request is done "
    "once and answered alike every time, for as long as the ledger lives. Use a new random UUID "
    "for each operation, bare or in double quotes.",
    "schema": {
        "type": "string",
        "maxLength": IDEMPOTENCY_KEY_LENGTH_MAX,
        "pattern": "^[!-~](?:[ -~]*[!-~])?$",
        "examples": ["8e03978e-40d5-43e8-bc93-6894a57f9324"],
    },
}

ITEM_ID = "deed_hh9822bx8kphnbf2xp8dx0575x"
OTHER_ITEM_ID = "deed_yv2b4m7q0kzs9dh3t8xw5cnr6e"
OFFER_ID = "offer_6qg1tn0f5wv9x3kh8ry2c7dsbm"

_FIRST = "s72y45wcqbag93w79cjsgkjenc36zbyw"
_SECOND = "55z5b65k3qjyftb2wm3573ggmadwec1p"
_THIRD = "cwyr410zm24qrywh2zbe8aev1xd1c5pm"
_FOURTH = "hncd27vbg98tfsgx4fxtjyhv7g77swwr"

_METADATA = {
    "name": "Harbour Street 5",
    "description": "A hundred shares of the house",
    "image": "https://example.com/harbour-street-5.jpg",
}


def _shown(summary: str, **value: Any) -> dict[str, Any]:
    return {"summary": summary, "value": value}


MINT_REQUESTS = {
    "strings": _shown(
        "Outputs as strings",
        outputs=[f"+60.{_FIRST}", f"+40.{_SECOND}"],
        metadata=_METADATA,
    ),
    "objects": _shown(
        "Outputs as objects, without metadata",
        outputs=[{"amount": 60, "secret": _FIRST}, {"amount": 40, "secret": _SECOND}],
    ),
}

MINT_ANSWERS = {
    "minted": _shown(
        "The answer to either request",
        itemId=ITEM_ID,
        outputs=[
            {"amount": 60, "secret": _FIRST, "itemId": ITEM_ID},
            {"amount": 40, "secret": _SECOND, "itemId": ITEM_ID},
        ],
        rawOutputs=[f"+60.{ITEM_ID}.{_FIRST}", f"+40.{ITEM_ID}.{_SECOND}"],
    ),
}

SWAP_REQUESTS = {
    "takeCustody": _shown(
        "Take custody of what was handed over: the same amount, a new secret",
        inputs=[f"+40.{ITEM_ID}.{_SECOND}"],
        outputs=[f"+40.{ITEM_ID}.{_THIRD}"],
    ),
    "split": _shown(
        "Split one output into two",
        inputs=[f"+60.{ITEM_ID}.{_FIRST}"],
        outputs=[f"+35.{ITEM_ID}.{_THIRD}", f"+25.{ITEM_ID}.{_FOURTH}"],
    ),
}

SWAP_ANSWERS = {"swapped": _shown("The secrets were replaced", success=True)}

CHECK_REQUESTS = {
    "two": _shown(
        "Two outputs", outputs=[f"+40.{ITEM_ID}.{_THIRD}", f"+40.{ITEM_ID}.{_SECOND}"]
    ),
}
CHECK_ANSWERS = {"two": _shown("Still there, and spent", states=["unspent", "spent"])}

ITEM_ANSWERS = {
    "withMetadata": _shown(
        "An item with metadata",
        id=ITEM_ID,
        total=100,
        metadata=json.dumps(_METADATA, separators=(",", ":")),
    ),
}

OFFER_REQUESTS = {
    "trade": _shown(
        "Give 10 units of one item for 2 of another, and keep the other 50",
        inputs=[f"+60.{ITEM_ID}.{_FIRST}"],
        outputs=[f"+50.{ITEM_ID}.{_SECOND}", f"+2.{OTHER_ITEM_ID}.{_THIRD}"],
        expiresIn=86400,
    ),
    "paymentRequest": _shown(
        "Ask for 2 units", inputs=[], outputs=[f"+2.{OTHER_ITEM_ID}.{_THIRD}"]
    ),
}

OFFER_ANSWERS = {
    "trade": _shown(
        "The trade, while it is open",
        offerId=OFFER_ID,
        state="open",
        gives=[{"itemId": ITEM_ID, "amount": 10}],
        wants=[{"itemId": OTHER_ITEM_ID, "amount": 2}],
        expiresAt="2026-12-01T10:00:00Z",
    ),
}

COMPLETION_REQUESTS = {
    "trade": _shown(
        "Pay the 2 units, and take the 10",
        inputs=[f"+2.{OTHER_ITEM_ID}.{_FOURTH}"],
        outputs=[f"+10.{ITEM_ID}.{_FOURTH}"],
    ),
    "payment": _shown(
        "Pay a request exactly", inputs=[f"+2.{OTHER_ITEM_ID}.{_FOURTH}"], outputs=[]
    ),
}
