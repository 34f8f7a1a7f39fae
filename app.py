"""Builds the WSGI application from settings and parts. May import everything."""

import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import click
from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from deeds import errors
from deeds.blueprints import v1
from deeds.blueprints.answers import register_answers
from deeds.blueprints.health import health_blueprint
from deeds.blueprints.limits import ClientLimits
from deeds.blueprints.log import configure_log, register_log
from deeds.errors import RetryLaterError, StartError
from deeds.hashing import Hasher, HashPool, argon2id
from deeds.part import (
    CommandContext,
    Commands,
    Core,
    Ledger,
    Part,
    Retries,
    check_limit_names,
)
from deeds.process import (
    THREADS_COUNT,
    default_processes_count,
    keep_exit_code,
    usable_cpus_count,
)
from deeds.service import DeedService
from deeds.settings import COMMAND, Settings, read_settings
from storage.database import Database
from storage.files import as_owner
from storage.repository import Repository
from storage.schema import (
    CORE,
    READ_VERSIONS,
    check_still_served,
    check_versions,
    log_ledger,
    migrate,
)
from storage.sqlite import SqliteDatabase, sqlite_path

# The core depends on none of these; any line may be deleted.
PARTS = (
    "offers",
    "minting",
    "metrics",
    "openapi",
    "pages",
    "rollback",
    "operator",
)
# Loaded for commands only, never for the service.
COMMAND_PARTS = ("dev", "postgresql")

# Maximum number of requests per process that wait for slow hashes. The other quarter of
# the threads is left to strong secrets and reads.
HASH_REQUESTS_MAX = THREADS_COUNT * 3 // 4

_log = logging.getLogger("deeds")

# Ledgers already logged, by this process or by its parent before the fork.
_logged_ledgers: set[str] = set()


def now_ms() -> int:
    """Return the time in milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


class Service(Flask):
    """The WSGI application."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return `func` unchanged: no view is async, so skip Flask's check per call."""
        return func


def create_app(
    settings: Settings | None = None,
    parts: Collection[str] | None = None,
    *,
    clock: Callable[[], int] = now_ms,
    token_bytes: Callable[[int], bytes] = secrets.token_bytes,
) -> Flask:
    """Return the WSGI application, after opening and checking its ledger.

    `parts` are names from PARTS: all by default, the core alone if empty. `clock`
    returns milliseconds since 1970-01-01 UTC; `token_bytes(n)` returns n random bytes.

    Raises StartError if the service cannot start. Without `settings`, as gunicorn and
    Flask call it, reads the environment, and a failure logs one line and exits with 1.

    The application has no thread and no open connection yet, so the process may fork.
    `app.extensions["deeds"].close()` ends those that it opens later.
    """
    build = _Build(_load(PARTS if parts is None else parts), clock, token_bytes)
    if settings is not None:
        return build.app(settings)
    keep_exit_code()
    try:
        # Under gunicorn, `prepare` has already run the slow checks.
        return build.app(read_settings(os.environ), thorough=not _logged_ledgers)
    except StartError as stop:
        # If logging is not configured yet, Python prints this to stderr as it is.
        _log.error(stop, extra={"event": "cannot_start"})
        raise SystemExit(1) from None


def make_command(settings: Settings | None = None) -> click.Group:
    """Return the `deeds` command; its settings default to the environment's."""
    parts = _load((*PARTS, *COMMAND_PARTS))
    return _Build(parts, now_ms, secrets.token_bytes).command(settings)


def main() -> None:
    """Run the `deeds` command, in a checkout `python -m app`."""
    keep_exit_code()
    make_command()(prog_name=COMMAND)


def prepare() -> None:
    """Check settings and database once before workers start; raise StartError."""
    build = _Build(_load(PARTS), now_ms, secrets.token_bytes)
    settings = read_settings(os.environ)
    configure_log(settings.log_form, settings.log_level)
    build.check_parts(settings)
    build.limits(settings)
    with ExitStack() as closing:
        build.ledger(settings, closing, thorough=True)


@dataclass(frozen=True, slots=True)
class _Build:
    """Builds the application and the command from the loaded parts."""

    parts: Sequence[Part]
    clock: Callable[[], int]
    token_bytes: Callable[[int], bytes]
    retries: Retries = field(default_factory=Retries)

    def app(self, settings: Settings, *, thorough: bool = False) -> Flask:
        """Return the application; `thorough` as in `ledger`. Raises StartError."""
        app = Service("deeds", static_folder=None)
        app.config["MAX_CONTENT_LENGTH"] = settings.body_bytes_max
        # Do not redirect doubled slashes: Werkzeug's redirect has an HTML body.
        app.url_map.merge_slashes = False
        if proxies := settings.trusted_proxies:
            # `x_proto` is always 1: each proxy overwrites X-Forwarded-Proto, so it has
            # one value. Pages need the scheme for links.
            proxied = ProxyFix(app.wsgi_app, x_for=proxies, x_proto=1)
            app.wsgi_app = proxied  # type: ignore[method-assign]
        with ExitStack() as closing:
            self._add_service(app, settings, closing, thorough=thorough)
            app.extensions["deeds"] = closing.pop_all()
        return app

    def command(self, own_settings: Settings | None) -> click.Group:
        """Return the `deeds` command with the commands of all parts.

        Each command opens the ledger only if it needs it.
        """

        def open_ledger(
            *setting_names: str, settings: Settings | None = None
        ) -> Ledger:
            names = ("database_url", "checkpoint_file", *setting_names)
            used = settings or own_settings or read_settings(os.environ, names)
            closing = ExitStack()
            click.get_current_context().call_on_close(closing.close)
            if used.database_url.startswith("sqlite"):
                closing.enter_context(as_owner(sqlite_path(used.database_url).parent))
            return self._ledger(used, closing)

        commands = [command for part in self.parts for command in part.commands]
        return Commands(CommandContext(open_ledger, create_app), commands)

    def check_parts(self, settings: Settings) -> None:
        """Raise StartError if mint tokens are set but parts/minting is missing."""
        names = [part.name for part in self.parts]
        if settings.mint_token_digests and "minting" not in names:
            raise StartError("DEEDS_MINT_TOKEN is set, and parts/minting is missing")

    def limits(self, settings: Settings) -> ClientLimits:
        """Return the client limits; raise StartError for an unknown limit name."""
        check_limit_names(settings, self.parts)
        return ClientLimits(settings.rate_limits)

    def ledger(
        self, settings: Settings, closing: ExitStack, *, thorough: bool = False
    ) -> Ledger:
        """Return the ledger, ready to be served; raise StartError.

        An SQLite ledger is created or upgraded; the tables of a PostgreSQL ledger must
        be up to date. `thorough` logs the ledger and runs the slow checks, which one
        process runs for the whole service.
        """
        pool = settings.pool_size, _processes_count(settings)
        ledger = self._ledger(settings, closing, *pool)
        is_file = settings.database_url.startswith("sqlite")
        name, is_new = ledger.database.name, not ledger.database.table_names()
        if is_new and name in _logged_ledgers:
            # A later worker must not create an empty ledger in its place.
            raise StartError(f"DATABASE_URL: {name} is gone: is its disk mounted?")
        try:
            # Only `deeds migrate` changes a PostgreSQL database.
            if is_file:
                migrate(ledger.database, ledger.schemas)
            else:
                check_versions(ledger.database, ledger.schemas)
            if thorough and name not in _logged_ledgers:
                _logged_ledgers.add(name)
                log_ledger(ledger.database, is_new=is_new)
            ledger.database.check_start(thorough=thorough)
        except RetryLaterError as error:
            raise StartError(f"DATABASE_URL: {error}") from None
        for part in self.parts if thorough else ():
            if part.check_start is not None:
                part.check_start(ledger)
        return ledger

    def _ledger(self, settings: Settings, closing: ExitStack, *pool: int) -> Ledger:
        retries = self.retries
        database = open_database(settings.database_url, self.clock, retries.note, *pool)
        for part in self.parts:
            if part.wrap_database is not None:
                database = part.wrap_database(settings, database, retries)
        closing.callback(database.close)
        schemas = [CORE, *(part.schema for part in self.parts if part.schema)]
        return Ledger(settings, database, schemas, self.parts)

    def _add_service(
        self, app: Flask, settings: Settings, closing: ExitStack, *, thorough: bool
    ) -> None:
        configure_log(settings.log_form, settings.log_level)
        register_log(app)
        register_answers(app)
        self.check_parts(settings)
        ledger = self.ledger(settings, closing, thorough=thorough)
        repository = Repository(ledger.database)
        hasher = _make_hasher(settings, repository)
        closing.callback(hasher.pool.close)
        service = DeedService(repository, hasher, self.token_bytes)
        limits = self.limits(settings)
        info = v1.service_info(settings)
        app.register_blueprint(
            v1.v1_blueprint(service, limits, settings.array_length_max, info)
        )
        kinds = [*errors.problems(errors)]
        for part in self.parts:
            kinds += part.errors
        core = Core(
            settings,
            service,
            hasher,
            limits,
            ledger.database,
            self.retries,
            self.clock,
            kinds,
            info,
        )
        for part in self.parts:
            if part.register is not None:
                part.register(app, core)

        def check_ready() -> None:
            hasher.pool.check_room()
            versions = ledger.database.probe(READ_VERSIONS)
            check_still_served(versions, ledger.schemas)

        app.register_blueprint(health_blueprint(check_ready))
        # Connections opened during startup must not cross a fork.
        ledger.database.close()


def open_database(
    url: str,
    clock: Callable[[], int],
    on_retry: Callable[[str], None] | None = None,
    pool_size: int = 0,
    processes_count: int = 1,
) -> Database:
    """Return the database of a URL, without opening it; raise StartError.

    `pool_size` is the maximum number of PostgreSQL connections, shared by all
    `processes_count` processes; 0 means the default.
    """
    if url.startswith("postgres"):
        try:
            postgresql: Any = import_module("parts.postgresql.database")
        except ModuleNotFoundError as missing:
            raise StartError(
                f"DATABASE_URL names PostgreSQL, and {missing.name} is not installed"
            ) from None
        database: Database = postgresql.PostgresqlDatabase(
            url, clock, on_retry, pool_size, processes_count
        )
        return database
    return SqliteDatabase(sqlite_path(url), clock)


def _load(names: Collection[str]) -> list[Part]:
    """Return the named parts; skip those that are deleted or lack a package."""
    parts = []
    for name in names:
        try:
            part: Part = import_module(f"parts.{name}.part").PART
        except ModuleNotFoundError as missing:
            # The part's folder was deleted, which is allowed.
            if missing.name in {"parts", f"parts.{name}", f"parts.{name}.part"}:
                continue
            if str(missing.name).startswith("parts."):
                raise
            _log.warning("%s is left out: it needs %s", name, missing.name)
            continue
        parts.append(part)
    return parts


def _processes_count(settings: Settings) -> int:
    return settings.processes_count or default_processes_count()


def _make_hasher(settings: Settings, repository: Repository) -> Hasher:
    """Return the hasher; raise StartError if a pepper of the ledger is missing."""
    try:
        policies = repository.open_policies(settings.hash_policy)
    except RetryLaterError as error:
        raise StartError(f"DATABASE_URL: {error}") from None
    for policy in policies:
        if policy.pepper_fingerprint not in settings.peppers:
            raise StartError(
                "items were minted under the pepper with the fingerprint"
                f" {policy.pepper_fingerprint}; name it in DEEDS_PEPPERS_OLD"
                " (or DEEDS_PEPPER)"
            )
    key_pepper = settings.peppers[policies[0].pepper_fingerprint]
    threads_count = max(1, usable_cpus_count() // _processes_count(settings))
    pool = HashPool(threads_count, HASH_REQUESTS_MAX)
    return Hasher(settings.hash_policy, settings.peppers, key_pepper, pool, argon2id)


if __name__ == "__main__":
    # gunicorn imports this module as `app`: use that copy, not `__main__`.
    from app import main as main_of_app

    main_of_app()
