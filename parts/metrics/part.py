"""GET /metrics and its counters, if DEEDS_METRICS is on."""

from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter

from flask import Flask, Response, request
from prometheus_client import CONTENT_TYPE_LATEST

from deeds.blueprints.answers import NO_STORE
from deeds.blueprints.log import (
    RequestNotes,
    method_of_request,
    request_notes,
    route_of_request,
)
from deeds.hashing import Hash, Hasher, HashJob
from deeds.part import Core, Part
from deeds.process import LOG_STREAM
from parts.metrics.metrics import Metrics


def register(app: Flask, core: Core) -> None:
    """Measure the service, and add the route, if the settings say so."""
    if core.settings.metrics != "on":
        return
    codes = [error.code for error in core.errors]
    requests_max = core.hasher.pool.requests_max

    @cache
    def metrics() -> Metrics:
        series = Metrics(codes, requests_max)
        LOG_STREAM.on_drop = series.log_lines_dropped.inc
        return series

    # gunicorn_conf.py calls this after the fork, before the first request.
    app.extensions["deeds_metrics"] = metrics
    _measure_hashes(core.hasher, metrics)
    core.retries.count = lambda reason: metrics().retries.labels(reason).inc()

    @app.after_request
    def count_request(answer: Response) -> Response:
        series, notes = metrics(), request_notes()
        route, method = route_of_request(), method_of_request()
        seconds = perf_counter() - notes.started_s
        series.requests.labels(route, method).observe(seconds)
        if notes.problem_code is not None:
            series.refusals.labels(notes.problem_code).inc()
        if route.startswith("/v1/") and method != "OPTIONS":
            # The name of the function, without the blueprint's.
            kind = str(request.endpoint).rpartition(".")[2]
            series.operations.labels(kind, _outcome_of(notes)).inc()
        return answer

    @app.get("/metrics")
    def read_metrics() -> Response:
        answer = Response(metrics().text(), content_type=CONTENT_TYPE_LATEST)
        answer.headers["Cache-Control"] = NO_STORE
        return answer


def _outcome_of(notes: RequestNotes) -> str:
    """Return "done", "replayed" or the code of a problem."""
    if notes.problem_code is not None:
        return notes.problem_code
    is_replayed = notes.operation is not None and notes.operation.replayed
    return "replayed" if is_replayed else "done"


def _measure_hashes(hasher: Hasher, metrics: Callable[[], Metrics]) -> None:
    """Measure the evaluations of a hasher, and its requests with slow hashes."""
    argon2id, run = hasher.argon2id, hasher.pool.run

    def measured_argon2id(job: HashJob) -> bytes:
        secret_class = "strong" if job.is_strong else "ordinary"
        with metrics().hash_seconds.labels(secret_class).time():
            return argon2id(job)

    def measured_run(work: Hash, jobs: Sequence[HashJob], client: str) -> list[bytes]:
        series = metrics()
        with series.requests_waiting.track_inprogress():
            series.hashes_waiting.inc(len(jobs))
            try:
                return run(work, jobs, client)
            finally:
                series.hashes_waiting.dec(len(jobs))

    hasher.argon2id = measured_argon2id
    hasher.pool.run = measured_run  # type: ignore[method-assign]


PART = Part("metrics", register)
