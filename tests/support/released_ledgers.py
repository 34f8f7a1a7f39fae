"""Ledgers of released schemas: SQL text under tests/support/schemas/, with what was asked of them.

They stand for the databases that people have, so a file that was released is never changed.
"""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

from deeds.domain.model import Argon2Cost

SCHEMAS = Path(__file__).parent / "schemas"
DATABASES = ("sqlite", "postgresql")

# Peppers of ledgers that hold nothing of worth, as are the secrets in their files.
PEPPER_OLD, PEPPER = "pepper-of-a-test-" + "1" * 16, "pepper-of-a-test-" + "2" * 16

# The settings that each ledger was made under, one after the other.
EPOCHS: tuple[dict[str, Any], ...] = (
    {"ordinary_cost": Argon2Cost(8, 1, 1)},
    {"ordinary_cost": Argon2Cost(16, 1, 1), "pepper": PEPPER_OLD.encode()},
    {
        "ordinary_cost": Argon2Cost(8, 2, 1),
        "pepper": PEPPER.encode(),
        "peppers_old": (PEPPER_OLD.encode(),),
    },
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that was answered with 200."""

    path: str
    body: dict[str, Any]
    key: str | None
    answer: dict[str, Any]

    @property
    def inputs(self) -> list[str]:
        """Return the raw outputs that it spent."""
        return list(self.body.get("inputs", []))

    @property
    def outputs(self) -> list[str]:
        """Return the raw outputs that it created."""
        return list(self.answer.get("rawOutputs") or self.body["outputs"])


def file_of(revision: str, database: str, kind: str) -> Path:
    """Return where the file of a revision is, or will be: its `sql` or its `json`."""
    return SCHEMAS / f"{revision}.{database}.{kind}"


def released_revisions() -> list[str]:
    """Return the revisions of which there is a file."""
    return sorted({path.name.partition(".")[0] for path in SCHEMAS.iterdir()})


def read_requests(revision: str, database: str) -> list[Request]:
    """Return what was asked of the ledger, in order."""
    text = file_of(revision, database, "json").read_text(encoding="utf-8")
    return [Request(**each) for each in json.loads(text)]


def load(revision: str, database_url: str) -> None:
    """Fill an empty database with the ledger of a revision, by no code of the service."""
    url = make_url(database_url)
    sql = file_of(revision, url.get_backend_name(), "sql").read_text(encoding="utf-8")
    if url.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(url.database or "")) as connection:
            connection.executescript(sql)
        return
    with psycopg.connect(database_url) as postgres:
        postgres.execute(sql.encode())
