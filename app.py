"""Builds the application: settings in, WSGI application out. May import everything."""

import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from flask import Flask
from sqlalchemy import Engine
from werkzeug.middleware.proxy_fix import ProxyFix

from deeds.blueprints.error_answers import register_problems
from deeds.blueprints.limits import ClientLimits
from deeds.blueprints.monitoring import monitoring_blueprint
from deeds.blueprints.openapi import openapi_blueprint
from deeds.blueprints.problems import PROBLEMS
from deeds.blueprints.request_log import register_request_log
from deeds.blueprints.responses import set_headers
from deeds.blueprints.v1 import v1_blueprint
from deeds.cli import deeds_commands, is_loaded_for_commands
from deeds.domain.errors import RetryLaterError, StartError
from deeds.domain.hashing import Hasher, HashPool
from deeds.domain.model import ARRAY_LENGTH_MAX, HashPolicy
from deeds.domain.offers import OfferService
from deeds.domain.outputs import OutputFinder
from deeds.domain.policies import open_policies
from deeds.domain.service import DeedService
from deeds.page.pages import not_found_page, pages_blueprint
from deeds.page.static_files import read_static_files
from deeds.server.cpus import THREADS_COUNT, default_processes_count, usable_cpus_count
from deeds.server.log import configure_log
from deeds.server.metrics import Metrics
from deeds.server.streams import keep_exit_code
from deeds.settings import Settings, read_settings
from storage.checkpoint import checkpoint_file_of
from storage.engine import make_engine, parse_database_url
from storage.repository import Repository
from storage.schema import open_schema
from storage.sqlite_file import check_file
from storage.transactions import TRIES_MAX, OnRetry

_log = logging.getLogger("deeds")

# Requests of a process that may wait for slow hashes at once: a quarter of its threads
# is always there for strong secrets and reads. Evaluations of one client: those of a
# quarter of the requests.
HASH_REQUESTS_MAX = THREADS_COUNT * 3 // 4
HASH_TASKS_MAX = HASH_REQUESTS_MAX // 4 * ARRAY_LENGTH_MAX


class Service(Flask):
    """The WSGI application."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function: none is a coroutine, and Flask would look each time."""
        return func


def create_app(settings: Settings | None = None) -> Flask:
    """Return the service, with its database created or upgraded.

    Raises StartError. Without settings they are those of the environment, and what
    cannot start ends the process with one line and exit code 1: gunicorn and Flask call
    it so. It has no thread and no open connection yet, so that a process may fork. A
    process that outlives its app ends the app's threads and connections with
    `app.extensions["deeds"].close()`.
    """
    if settings is not None:
        return _create_app(settings)
    keep_exit_code()
    try:
        return _create_app(read_settings(os.environ))
    except StartError as stop:
        raise SystemExit(str(stop)) from None


def _create_app(settings: Settings) -> Flask:
    engine = make_engine(parse_database_url(settings.database_url))
    app = Service("deeds", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_bytes_max
    # A doubled slash is a path of its own: no redirect, whose body would be HTML.
    app.url_map.merge_slashes = False
    if proxies := settings.trusted_proxies:
        # The scheme is for the links of pages. A proxy replaces what it is told of it:
        # one entry.
        proxied = ProxyFix(app.wsgi_app, x_for=proxies, x_proto=1)
        app.wsgi_app = proxied  # type: ignore[method-assign]
    app.cli.add_command(deeds_commands(engine, settings))
    with ExitStack() as closing:
        closing.callback(engine.dispose)
        if not is_loaded_for_commands():
            open_schema(engine)
            _register(app, settings, engine, closing)
            engine.dispose()
        app.extensions["deeds"] = closing.pop_all()
    return app


def prepare() -> None:
    """Check settings and database once before workers start.

    Raises StartError as `create_app`.
    """
    settings = read_settings(os.environ)
    ClientLimits(
        settings.rate_limits, settings.rate_limits_storage
    )  # Its Redis may be wrong.
    engine = make_engine(parse_database_url(settings.database_url))
    with ExitStack() as closing:
        closing.callback(engine.dispose)
        open_schema(engine)
        check_file(engine)
        _open_ledger(settings, engine, closing)
    if checkpoint_file_of(engine, settings.checkpoint_file) is None:
        _log.warning(
            "DEEDS_CHECKPOINT_FILE is not set: a start does not detect that the ledger"
            " was replaced by an older copy",
            extra={"event": "checkpoint_off"},
        )


def _register(
    app: Flask, settings: Settings, engine: Engine, closing: ExitStack
) -> None:
    configure_log(settings.log_form, settings.log_level)
    is_measured = settings.metrics == "on"
    metrics = Metrics(PROBLEMS, TRIES_MAX, HASH_REQUESTS_MAX) if is_measured else None
    app.extensions["deeds_metrics"] = metrics
    register_request_log(app, metrics.count_request if metrics else None)
    on_retry = metrics.count_retry if metrics else None
    repository, first_policy = _open_ledger(settings, engine, closing, on_retry)
    processes_count = settings.processes_count or default_processes_count()
    threads_count = max(1, usable_cpus_count() // processes_count)
    set_queue = metrics.set_queue if metrics else None
    pool = HashPool(threads_count, HASH_REQUESTS_MAX, HASH_TASKS_MAX, set_queue)
    closing.callback(pool.close)
    hasher = Hasher(
        settings.hash_policy,
        settings.peppers,
        settings.peppers[first_policy.pepper_fingerprint],
        pool,
        metrics.count_hash if metrics else None,
    )
    finder = OutputFinder(repository, hasher)
    service = DeedService(repository, hasher, finder)
    offers = OfferService(repository, hasher, finder)
    limits = ClientLimits(settings.rate_limits, settings.rate_limits_storage)

    def check_ready() -> None:
        pool.check_room()
        repository.check_ready()

    array_length_max = settings.array_length_max
    app.register_blueprint(
        monitoring_blueprint(check_ready, metrics.text if metrics else None)
    )
    register_problems(app, not_found_page)
    app.after_request(set_headers)
    app.before_request(limits.count_request)
    app.register_blueprint(v1_blueprint(service, offers, limits, settings))
    app.register_blueprint(openapi_blueprint(array_length_max))
    static = read_static_files()
    app.register_blueprint(
        pages_blueprint(
            service, offers, static, limits, array_length_max=array_length_max
        )
    )


def _open_ledger(
    settings: Settings,
    engine: Engine,
    closing: ExitStack,
    on_retry: OnRetry | None = None,
) -> tuple[Repository, HashPolicy]:
    """Return the ledger and its first policy."""
    file = checkpoint_file_of(engine, settings.checkpoint_file)
    repository = Repository(engine, on_retry, file)
    closing.callback(repository.close)
    try:
        policy = open_policies(repository, settings.hash_policy, settings.peppers)
    except RetryLaterError as error:
        raise StartError(f"DATABASE_URL: {error}") from None
    repository.disconnect()
    return repository, policy
