"""The reference: what Flask alone costs. Answers the service's paths with JSON and does nothing.

Runs under the service's own gunicorn.conf.py, so with the same worker class, processes and threads.
A POST reads its body with Flask's `request.get_json()`, and every answer is a dict that Flask turns
into JSON: the shortest way that Flask offers.
"""

from typing import Any

from flask import Flask, request

# As long as what the service answers for the items of `bench.rows_reads`.
METADATA = '{"name":"A share in the garden shed","description":"One of a hundred"}'


def create_app() -> Flask:
    """Return the application."""
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
