"""The shape of a part: what it has for others, in one value that app.py reads.

The core knows no part. A part knows the core and no other part.
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
    """Is told of what is tried again, by its reason; a part may set `count`."""

    count: Callable[[str], None] | None = None

    def note(self, reason: str) -> None:
        """Count one more."""
        if self.count is not None:
            self.count(reason)


@dataclass(frozen=True, slots=True)
class Core:
    """What a part is given to register itself on.

    `clock` returns milliseconds since 1970-01-01 UTC. `errors` are those of the core
    and of all parts, `info` is what GET /v1/info answers.
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
    """The database, its tables, and whose they are."""

    settings: Settings
    database: Database
    schemas: Sequence[Schema]
    parts: Sequence["Part"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of `deeds doctor`, without secrets; one that is wrong has a remedy."""

    state: Literal["ok", "unknown", "wrong"]
    subject: str
    text: str


class OpenLedger(Protocol):
    """Opens the ledger for a command: one that needs none opens none."""

    def __call__(self, *setting_names: str, settings: Settings | None = None) -> Ledger:
        """Return the ledger, closed when the command ends; raise StartError.

        Of the settings it has those that say where the ledger and its checkpoint file
        are, and those of these names: an invalid one of another command's, or of the
        service's, does not matter. With `settings` it has those instead.
        """


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What app.py gives to commands, as the `obj` of click's context.

    `create_app` is that of app.py.
    """

    open_ledger: OpenLedger
    create_app: Callable[..., Flask]


class Commands(click.Group):
    """The command `deeds`: those of all parts.

    They end with one line where the ledger cannot be used.
    """

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
        """Run a command; exit with code 1 where the ledger cannot be used."""
        try:
            return super().invoke(ctx)
        except StartError as stop:
            raise SystemExit(str(stop)) from None
        except RetryLaterError as error:
            raise SystemExit(f"deeds: the ledger cannot be read: {error}") from None


@dataclass(frozen=True, slots=True)
class Part:
    """A part. All but its name may be left out.

    `register` adds its endpoints to the app. `wrap_database` returns a database in the
    place of the one that it is given. `checks` are queries by the sentence that they
    prove: each returns where it is violated. `counts` are queries that return one row
    with a number. `kinds` are those of its operations. `limit_names` are its names in
    DEEDS_RATE_LIMITS. `commands` are click's: the `obj` of their context is a
    CommandContext. `check_start` raises StartError where a service must not start; it
    is called once, before the processes are started. `audit` returns the places where
    invariants of the whole ledger are violated, by the sentence of each. `examine`
    yields what the part says in `deeds doctor`; it changes nothing.
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
    """Raise StartError for a limit of no such name, of the core or of these parts."""
    names = [FAILURES, *LIMIT_NAMES]
    for part in parts:
        names += part.limit_names
    check_names(settings.rate_limits, names)


def _read_env_file(_context: click.Context, _option: Any, path: str | None) -> None:
    """Put the settings of a file into the environment, where it has none."""
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
        # A setting must not be lost because its line is misspelt.
        if is_wrong or (name is not None and value is None):
            # It begins with the blank lines before it.
            text = original.string
            blank = text[: len(text) - len(text.lstrip())]
            line = original.line + blank.count("\n")
            raise click.UsageError(f"{path}, line {line}: must look like NAME=value")
        # An empty variable counts as unset.
        if name is not None and not os.environ.get(name):
            os.environ[name] = value
