"""The shape of a part: what it has for others, in one value that app.py reads.

The core knows no part. A part knows the core and no other part.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import click
from flask import Flask

from deeds.blueprints.limits import ClientLimits
from deeds.errors import DeedError, RetryLaterError, StartError
from deeds.hashing import Hasher
from deeds.service import DeedService
from deeds.settings import Settings
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


class Commands(click.Group):
    """Commands that end with one line where the ledger cannot be used."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit with code 1 where the ledger cannot be used."""
        try:
            return super().invoke(ctx)
        except StartError as stop:
            raise SystemExit(str(stop)) from None
        except RetryLaterError as error:
            raise SystemExit(f"deeds: the ledger cannot be read: {error}") from None


class OpenLedger(Protocol):
    """What commands are given: a command that needs no ledger opens none."""

    def __call__(self, *setting_names: str, database_url: str | None = None) -> Ledger:
        """Return the ledger, closed when the command ends; raise StartError.

        Of the settings it has those that say where the ledger and its checkpoint file
        are, and those of these names: an invalid one of another command's, or of the
        service's, does not matter. A `database_url` opens that database in its place,
        without a checkpoint file.
        """


@dataclass(frozen=True, slots=True)
class Part:
    """A part. All but its name may be left out.

    `register` adds its endpoints to the app. `wrap_database` returns a database in the
    place of the one that it is given. `checks` are queries by the sentence that they
    prove: each returns where it is violated. `counts` are queries that return one row
    with a number. `kinds` are those of its operations. `limit_names` are its names in
    DEEDS_RATE_LIMITS. `commands` are click's: the `obj` of their context is an
    OpenLedger. `check_start` raises StartError where a service must not start; it is
    called once, before the processes are started.
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
