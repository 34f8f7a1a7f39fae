"""Builds the application: settings in, WSGI application out. May import everything."""

import logging
import os
from contextlib import ExitStack

from flask import Flask
from sqlalchemy import Engine
from werkzeug.middleware.proxy_fix import ProxyFix

from deeds.blueprints.docs import docs_blueprint
from deeds.blueprints.limits import ClientLimits
from deeds.blueprints.monitoring import monitoring_blueprint
from deeds.blueprints.problems import PROBLEMS, register_problems
from deeds.blueprints.request_log import register_request_log
from deeds.blueprints.responses import set_headers
from deeds.blueprints.v1 import service_info, v1_blueprint
from deeds.cli import deeds_commands, is_loaded_for_commands
from deeds.domain.errors import RetryLaterError, StartError
from deeds.domain.hashing import Hasher, HashPool
from deeds.domain.idempotency import Replays
from deeds.domain.model import ARRAY_LENGTH_MAX
from deeds.domain.offers import OfferService
from deeds.domain.outputs import Locator
from deeds.domain.schemes import HashSchemes
from deeds.domain.service import DeedService
from deeds.page.pages import not_found_page, pages_blueprint
from deeds.page.static_files import read_static_files
from deeds.server.cpus import THREADS_COUNT, default_processes_count, usable_cpus_count
from deeds.server.log import configure_log
from deeds.server.metrics import Metrics
from deeds.settings import Settings, read_settings
from storage.engine import make_engine, parse_database_url
from storage.mark import mark_file_of
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


def create_app(settings: Settings | None = None) -> Flask:
    """Return the service, with its database opened, created or upgraded.

    Raise StartError.

    The settings are those of the environment unless given. A process that outlives its
    app ends the app's threads and connections with `app.extensions["deeds"].close()`.
    """
    settings = settings or read_settings(os.environ)
    engine = make_engine(parse_database_url(settings.database_url))
    app = Flask("deeds", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_bytes_max
    # A doubled slash is a path of its own: no redirect, whose body would be HTML.
    app.url_map.merge_slashes = False
    if proxies := settings.trusted_proxies:
        # The scheme is for the links of pages. A proxy replaces what it is told of it:
        # one entry.
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=proxies, x_proto=1)  # type: ignore[method-assign]
    app.cli.add_command(deeds_commands(engine, settings))
    with ExitStack() as closing:
        closing.callback(engine.dispose)
        if not is_loaded_for_commands():
            open_schema(engine)
            _register(app, settings, engine, closing)
        app.extensions["deeds"] = closing.pop_all()
    return app


def prepare() -> None:
    """Check settings and database once before workers start.

    Raise StartError as `create_app`.
    """
    settings = read_settings(os.environ)
    ClientLimits(
        settings.rate_limits, settings.rate_limits_storage
    )  # Its Redis may be wrong.
    engine = make_engine(parse_database_url(settings.database_url))
    with ExitStack() as closing:
        open_schema(engine)
        check_file(engine)
        _open_ledger(settings, engine, closing)
    if mark_file_of(engine, settings.mark_file) is None:
        _log.warning(
            "DEEDS_MARK_FILE is not set: a start does not detect that the ledger was replaced by an"
            " older copy",
            extra={"event": "mark_off"},
        )


def _register(
    app: Flask, settings: Settings, engine: Engine, closing: ExitStack
) -> None:
    configure_log(settings.log_form, settings.log_level)
    is_measured = settings.metrics == "on"
    metrics = Metrics(PROBLEMS, TRIES_MAX, HASH_REQUESTS_MAX) if is_measured else None
    register_request_log(app, metrics.count_request if metrics else None)
    on_retry = metrics.count_retry if metrics else None
    repository, schemes = _open_ledger(settings, engine, closing, on_retry)
    processes_count = settings.processes_count or default_processes_count()
    threads_count = max(1, usable_cpus_count() // processes_count)
    set_queue = metrics.set_queue if metrics else None
    pool = HashPool(threads_count, HASH_REQUESTS_MAX, HASH_TASKS_MAX, set_queue)
    closing.callback(pool.close)
    hasher = Hasher(schemes.peppers, pool, metrics.count_hash if metrics else None)
    locator = Locator(repository, schemes, hasher)
    replays = Replays(repository.read_operation, locator)
    service = DeedService(repository, locator, replays)
    offers = OfferService(repository, locator, replays, service)
    limits = ClientLimits(settings.rate_limits, settings.rate_limits_storage)

    def check_ready() -> None:
        pool.check_room()
        repository.check_ready()

    info, array_length_max = service_info(settings, schemes), settings.array_length_max
    app.register_blueprint(
        monitoring_blueprint(check_ready, metrics.text if metrics else None)
    )
    register_problems(app, not_found_page)
    app.after_request(set_headers)
    app.before_request(limits.count_request)
    app.register_blueprint(v1_blueprint(service, offers, limits, info))
    app.register_blueprint(docs_blueprint(info))
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
) -> tuple[Repository, HashSchemes]:
    repository = Repository(engine, on_retry, mark_file_of(engine, settings.mark_file))
    closing.callback(repository.close)
    try:
        return repository, HashSchemes(
            repository, settings.ordinary_cost, settings.pepper, settings.peppers_old
        )
    except RetryLaterError as error:
        raise StartError(f"DATABASE_URL: {error}") from None
