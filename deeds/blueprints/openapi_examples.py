"""Examples and links of the OpenAPI document. The ids and secrets are of no real item.

Links lead from an answer to the next request, by the runtime expressions of OpenAPI 3.1, 4.8.20.4.
"""

ITEM_ID = "deed_hh9822bx8kphnbf2xp8dx0575x"
_OTHER_ITEM_ID = "deed_8h1a7b0jxgpjnwf38g7z7zzzpa"

_FIRST = "s72y45wcqbag93w79cjsgkjenc36zbyw"
_SECOND = "55z5b65k3qjyftb2wm3573ggmadwec1p"
_THIRD = "cwyr410zm24qrywh2zbe8aev1xd1c5pm"
_FOURTH = "hncd27vbg98tfsgx4fxtjyhv7g77swwr"

# The secret that the links between operations swap to. One fits all: it is new to each new item.
_FRESH_SECRET = "8p35wxdr3k2r64acaqfgw2986e9z0fhp"

_METADATA = {
    "name": "Harbour Street 5",
    "description": "A hundred shares of the house",
    "image": "https://example.com/harbour-street-5.jpg",
}

MINT_REQUESTS = {
    "strings": {
        "summary": "Outputs as strings",
        "value": {"outputs": [f"+60.{_FIRST}", f"+40.{_SECOND}"], "metadata": _METADATA},
    },
    "objects": {
        "summary": "Outputs as objects, without metadata",
        "value": {"outputs": [{"amount": 60, "secret": _FIRST}, {"amount": 40, "secret": _SECOND}]},
    },
}

MINT_ANSWERS = {
    "minted": {
        "summary": "The answer to either request",
        "value": {
            "itemId": ITEM_ID,
            "outputs": [
                {"amount": 60, "secret": _FIRST, "itemId": ITEM_ID},
                {"amount": 40, "secret": _SECOND, "itemId": ITEM_ID},
            ],
            "rawOutputs": [f"+60.{ITEM_ID}.{_FIRST}", f"+40.{ITEM_ID}.{_SECOND}"],
        },
    },
}

SWAP_REQUESTS = {
    "takeCustody": {
        "summary": "Take custody of what was handed over: the same amount, a new secret",
        "value": {
            "inputs": [f"+40.{ITEM_ID}.{_SECOND}"],
            "outputs": [f"+40.{ITEM_ID}.{_THIRD}"],
        },
    },
    "split": {
        "summary": "Split one output into two",
        "value": {
            "inputs": [f"+60.{ITEM_ID}.{_FIRST}"],
            "outputs": [f"+35.{ITEM_ID}.{_THIRD}", f"+25.{ITEM_ID}.{_FOURTH}"],
        },
    },
    "trade": {
        "summary": "Trade units of two items, all or nothing",
        "value": {
            "inputs": [f"+60.{ITEM_ID}.{_FIRST}", f"+5.{_OTHER_ITEM_ID}.{_SECOND}"],
            "outputs": [f"+60.{ITEM_ID}.{_THIRD}", f"+5.{_OTHER_ITEM_ID}.{_FOURTH}"],
        },
    },
}

SWAP_ANSWERS = {"swapped": {"summary": "The secrets were replaced", "value": {"success": True}}}

CHECK_REQUESTS = {
    "three": {
        "summary": "Three outputs",
        "value": {
            "outputs": [
                f"+40.{ITEM_ID}.{_THIRD}",
                f"+40.{ITEM_ID}.{_SECOND}",
                f"+40.{ITEM_ID}.{_FOURTH}",
            ]
        },
    },
}

CHECK_ANSWERS = {
    "three": {
        "summary": "Still there, spent, and never there",
        "value": {"states": ["unspent", "spent", "unknown"]},
    },
}

ITEM_ANSWERS = {
    "withMetadata": {
        "summary": "An item with metadata",
        "value": {
            "id": ITEM_ID,
            "total": 100,
            "metadata": '{"name":"Harbour Street 5","description":"A hundred shares of the house",'
            '"image":"https://example.com/harbour-street-5.jpg"}',
        },
    },
    "withoutMetadata": {
        "summary": "An item without metadata",
        "value": {"id": ITEM_ID, "total": 100, "metadata": None},
    },
}

MINT_LINKS = {
    "swap": {
        "operationId": "swap",
        "description": "Swap the first output to a new secret (make your own).",
        "requestBody": {
            "inputs": ["$response.body#/rawOutputs/0"],
            "outputs": [
                "+{$response.body#/outputs/0/amount}.{$response.body#/itemId}." + _FRESH_SECRET
            ],
        },
    },
    "check": {
        "operationId": "check",
        "description": "Ask for the states of the new outputs.",
        "requestBody": {"outputs": "$response.body#/rawOutputs"},
    },
    "readItem": {
        "operationId": "readItem",
        "description": "Read the new item.",
        "parameters": {"id": "$response.body#/itemId"},
    },
}

SWAP_LINKS = {
    "check": {
        "operationId": "check",
        "description": "Ask for the states of the new outputs.",
        "requestBody": {"outputs": "$request.body#/outputs"},
    },
}
