"""GET /metrics, where DEEDS_METRICS is on, and what is counted for it."""

from collections.abc import Sequence
from time import perf_counter
from typing import cast

from flask import Flask, Response, request
from prometheus_client import CONTENT_TYPE_LATEST

from deeds.blueprints.answers import NO_STORE
from deeds.blueprints.log import method_of_request, request_notes, route_of_request
from deeds.hashing import Hash, Hasher, HashJob, HashPool
from deeds.part import Core, Part
from parts.metrics.metrics import Metrics


def register(app: Flask, core: Core) -> None:
    """Measure the service, and add the route, if the settings say so."""
    if core.settings.metrics != "on":
        return
    codes = [error.code for error in core.errors]
    metrics = Metrics(codes, core.hasher.pool.requests_max)
    # gunicorn.conf.py opens it after the fork.
    app.extensions["deeds_metrics"] = metrics
    measure_hashes(core.hasher, metrics)
    core.retries.count = metrics.count_retry

    @app.after_request
    def count_request(answer: Response) -> Response:
        notes = request_notes()
        seconds = perf_counter() - notes.started_s
        route, method = route_of_request(), method_of_request()
        metrics.count_request(route, method, seconds, _kind(), notes.outcome)
        return answer

    @app.get("/metrics")
    def read_metrics() -> Response:
        answer = Response(metrics.text(), content_type=CONTENT_TYPE_LATEST)
        answer.headers["Cache-Control"] = NO_STORE
        return answer


class MeasuredPool:
    """A hash pool whose requests are counted while they run or wait."""

    def __init__(self, pool: HashPool, metrics: Metrics) -> None:
        self._pool = pool
        self._metrics = metrics
        self.check_room = pool.check_room
        self.close = pool.close

    def run(self, work: Hash, jobs: Sequence[HashJob], client: str) -> list[bytes]:
        """Return the digest of each job; raise OverloadedError."""
        with self._metrics.queueing(len(jobs)):
            return self._pool.run(work, jobs, client)


def measure_hashes(hasher: Hasher, metrics: Metrics) -> None:
    """Count the evaluations of a hasher, and the requests that have slow ones."""
    argon2id = hasher.argon2id

    def measured(job: HashJob) -> bytes:
        started_s = perf_counter()
        digest = argon2id(job)
        secret_class = "strong" if job.is_strong else "ordinary"
        metrics.count_hash(secret_class, perf_counter() - started_s)
        return digest

    hasher.argon2id = measured
    hasher.pool = cast(HashPool, MeasuredPool(hasher.pool, metrics))


def _kind() -> str:
    """Return the name of the endpoint of the interface; empty for all else."""
    _, _, name = (request.endpoint or "").partition(".")
    is_operation = request.path.startswith("/v1/") and request.method != "OPTIONS"
    return name if is_operation else ""


PART = Part("metrics", register)
