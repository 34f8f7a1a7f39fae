"""The reference: the service's paths in the shortest way that Flask offers."""

from typing import Any

from flask import Flask, request

# As long as what the service answers for the items of the row of reads.
METADATA = '{"name":"A share in the garden shed","description":"One of a hundred"}'


def create_app() -> Flask:
    app = Flask("bare", static_folder=None)

    @app.get("/v1/info")
    def info() -> dict[str, Any]:
        return {}

    @app.post("/v1/swap")
    def swap() -> dict[str, Any]:
        body = request.get_json()
        return {"success": bool(body["inputs"]) and bool(body["outputs"])}

    @app.get("/v1/item/<item_id>")
    def item(item_id: str) -> dict[str, Any]:
        return {"id": item_id, "total": 1, "metadata": METADATA}

    return app
