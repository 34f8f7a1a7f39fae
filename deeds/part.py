"""The interface of a part: one `Part` value, which app.py reads.

The core imports no part. A part imports the core and no other part.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

import click
from flask import Flask

from deeds.blueprints.limits import ClientLimits, check_names
from deeds.blueprints.v1 import LIMIT_NAMES, VERSION
from deeds.errors import DeedError, RetryLaterError, StartError
from deeds.hashing import Hasher
from deeds.service import DeedService
from deeds.settings import FAILURES, Settings
from storage.database import Database
from storage.schema import Schema


@dataclass(slots=True)
class Retries:
    """Counts retries by reason, if a part has set `count`."""

    count: Callable[[str], None] | None = None

    def note(self, reason: str) -> None:
        """Count one retry."""
        if self.count is not None:
            self.count(reason)


@dataclass(frozen=True, slots=True)
class Core:
    """The argument of `Part.register`.

    `clock` returns milliseconds since 1970-01-01 UTC. `errors` are the error classes of
    the core and all parts. `info` is the body of GET /v1/info; parts add to it.
    """

    settings: Settings
    service: DeedService
    hasher: Hasher
    limits: ClientLimits
    database: Database
    retries: Retries
    clock: Callable[[], int]
    errors: Sequence[type[DeedError]]
    info: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger's database and settings, and the schemas and parts of the code."""

    settings: Settings
    database: Database
    schemas: Sequence[Schema]
    parts: Sequence["Part"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of `deeds doctor`, without secrets.

    If `state` is "wrong", `text` names a remedy.
    """

    state: Literal["ok", "unknown", "wrong"]
    subject: str
    text: str


class OpenLedger(Protocol):
    """Opens the ledger, for commands that need it."""

    def __call__(self, *setting_names: str, settings: Settings | None = None) -> Ledger:
        """Return the ledger, which is closed when the command ends; raise StartError.

        Uses `settings` if given. Otherwise reads only DATABASE_URL,
        DEEDS_CHECKPOINT_FILE and the named settings from the environment, so other
        invalid settings do not matter.
        """


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The `obj` of click's context, which app.py passes to commands."""

    open_ledger: OpenLedger
    create_app: Callable[..., Flask]


class Commands(click.Group):
    """The `deeds` command, with the commands of all parts."""

    def __init__(
        self, context: CommandContext, commands: Sequence[click.Command]
    ) -> None:
        super().__init__(
            "deeds",
            commands=commands,
            help="Serve deeds, and look after their ledger.",
            context_settings={"obj": context},
        )
        click.version_option(VERSION, message="deeds %(version)s")(self)
        click.option(
            "--env-file",
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False, readable=True),
            callback=_read_env_file,
            expose_value=False,
            is_eager=True,
            help="Read settings that the environment does not have from a file.",
        )(self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit with one line and code 1 if the ledger is unusable."""
        try:
            return super().invoke(ctx)
        except StartError as stop:
            raise SystemExit(str(stop)) from None
        except RetryLaterError as error:
            raise SystemExit(f"deeds: the ledger cannot be read: {error}") from None


@dataclass(frozen=True, slots=True)
class Part:
    """A part. All fields but `name` are optional.

    register: adds endpoints to the app.
    wrap_database: returns a replacement for the database that it receives.
    schema: the versions of the part's tables.
    errors: the part's error classes.
    limit_names: names of the part's limits in DEEDS_RATE_LIMITS.
    checks: invariants, each a sentence, with queries for the places of violations.
    counts: names with queries that return one number.
    kinds: the kinds of operations that the part writes.
    commands: click commands, whose context has a CommandContext as `obj`.
    check_start: raises StartError if the service must not start; called once, before
        the workers start.
    audit: checks the whole ledger; returns the places of violations by invariant.
    examine: yields findings for `deeds doctor`; changes nothing.
    """

    name: str
    register: Callable[[Flask, Core], None] | None = None
    wrap_database: Callable[[Settings, Database, Retries], Database] | None = None
    schema: Schema | None = None
    errors: Sequence[type[DeedError]] = ()
    limit_names: Sequence[str] = ()
    checks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    counts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    kinds: Sequence[str] = ()
    commands: Sequence[Any] = ()
    check_start: Callable[[Ledger], None] | None = None
    audit: Callable[[Ledger], Mapping[str, str]] | None = None
    examine: Callable[[Ledger], Iterable[Finding]] | None = None


def check_limit_names(settings: Settings, parts: Sequence[Part]) -> None:
    """Raise StartError for a limit that neither the core nor these parts have."""
    names = [FAILURES, *LIMIT_NAMES]
    for part in parts:
        names += part.limit_names
    check_names(settings.rate_limits, names)


def _read_env_file(_context: click.Context, _option: Any, path: str | None) -> None:
    """Add the settings of a file to the environment; variables set there win."""
    if path is None:
        return
    try:
        parser: Any = import_module("dotenv.parser")
    except ModuleNotFoundError:
        raise click.UsageError("--env-file needs python-dotenv") from None
    try:
        bindings = list(parser.parse_stream(StringIO(Path(path).read_text("utf-8"))))
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8 text") from None
    for name, value, original, is_wrong in bindings:
        # Refuse a malformed line, rather than ignore a setting.
        if is_wrong or (name is not None and value is None):
            # `original` starts with the blank lines before the setting.
            text = original.string
            blank = text[: len(text) - len(text.lstrip())]
            line = original.line + blank.count("\n")
            raise click.UsageError(f"{path}, line {line}: must look like NAME=value")
        # An empty variable counts as unset.
        if name is not None and not os.environ.get(name):
            os.environ[name] = value
