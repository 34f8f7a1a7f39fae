"""The reference: the shortest Flask routes for paths of the service."""

from typing import Any

from flask import Flask, request

# Also the metadata of the items in `rows.reads`, so that both answers are equally long.
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
