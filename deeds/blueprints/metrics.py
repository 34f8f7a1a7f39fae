"""GET /metrics, for Prometheus: beside everything else, or alone on an address of its own."""

from collections.abc import Callable

from flask import Blueprint, Flask, Response, abort, request

from deeds.blueprints.request_log import MONITORED_PATHS
from deeds.blueprints.responses import NO_STORE


def metrics_blueprint(text: Callable[[], bytes], content_type: str, port: int | None) -> Blueprint:
    """Return the blueprint; `text` makes the metrics, `port` is their own where they have one."""
    blueprint = Blueprint("metrics", __name__)

    @blueprint.get("/metrics")
    def metrics() -> Response:
        if port is not None and (request.server is None or request.server[1] != port):
            abort(404)
        return Response(text(), content_type=content_type, headers={"Cache-Control": NO_STORE})

    return blueprint


def keep_to_monitors(app: Flask, port: int) -> None:
    """Serve on this port what is for monitors, and nothing else."""

    def refuse() -> None:
        if (
            request.server is not None
            and request.server[1] == port
            and request.path not in MONITORED_PATHS
        ):
            abort(404)

    app.before_request(refuse)
