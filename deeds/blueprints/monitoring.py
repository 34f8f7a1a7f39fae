"""GET /healthz, /readyz and /metrics: for whatever watches and restarts the service."""

from collections.abc import Callable

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_LATEST

from deeds.blueprints.responses import NO_STORE, json_answer


def monitoring_blueprint(
    check_ready: Callable[[], None], metrics_text: Callable[[], bytes] | None
) -> Blueprint:
    """Return the blueprint.

    `check_ready` raises a `RetryLaterError` while requests would fail.
    """
    blueprint = Blueprint("monitoring", __name__)

    @blueprint.get("/healthz")
    def healthz() -> Response:
        # It looks at nothing else: a restart would not bring a database back.
        return json_answer({"status": "alive"})

    @blueprint.get("/readyz")
    def readyz() -> Response:
        check_ready()
        return json_answer({"status": "ready"})

    if metrics_text is not None:

        @blueprint.get("/metrics")
        def metrics() -> Response:
            headers = {"Cache-Control": NO_STORE}
            return Response(
                metrics_text(), content_type=CONTENT_TYPE_LATEST, headers=headers
            )

    return blueprint
