"""GET /healthz and /readyz, for load balancers and process supervisors."""

from collections.abc import Callable

from flask import Blueprint, Response

from deeds.blueprints.answers import json_answer


def health_blueprint(check_ready: Callable[[], None]) -> Blueprint:
    """Return the blueprint with both endpoints.

    `check_ready` raises a RetryLaterError while requests would fail.
    """
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/healthz")
    def healthz() -> Response:
        # Check nothing: a supervisor would restart this process, which does not bring a
        # database back.
        return json_answer({"status": "alive"})

    @blueprint.get("/readyz")
    def readyz() -> Response:
        check_ready()
        return json_answer({"status": "ready"})

    return blueprint
