"""How answers of one operation lead into requests of another, for the OpenAPI document.

The expressions are those of OpenAPI 3.1, section 4.8.20.4 (runtime expressions).
"""

from deeds.blueprints.openapi_examples import FRESH_SECRET

_FIRST_OUTPUT_AGAIN = "+{$response.body#/outputs/0/amount}.{$response.body#/itemId}." + FRESH_SECRET

MINT_LINKS = {
    "swap": {
        "operationId": "swap",
        "description": "Swap the first output to a new secret (make your own).",
        "requestBody": {
            "inputs": ["$response.body#/rawOutputs/0"],
            "outputs": [_FIRST_OUTPUT_AGAIN],
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
