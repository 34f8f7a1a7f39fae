"""Ledgers of released schemas: SQL text under tests/support/schemas/, with what was asked of them.

They stand for the databases that people have, so a file that was released is never changed.
`python -m tests.support.released_ledgers PG_DUMP`, with the path of that program, writes those of
the newest revision, once, when it is released: it asks the service and dumps what is there.
"""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

from app import create_app
from deeds.domain.model import AMOUNT_MAX, Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import Settings
from storage.schema import HEAD_REVISION
from tests.support.postgres import PostgresCluster, running_server
from tests.support.requests import post

SCHEMAS = Path(__file__).parent / "schemas"
DATABASES = ("sqlite", "postgresql")

# Peppers of ledgers that hold nothing of worth, as are the secrets in their files.
PEPPER_OLD, PEPPER = "pepper-of-a-test-" + "1" * 16, "pepper-of-a-test-" + "2" * 16

# The settings that each ledger was made under, one after the other.
EPOCHS = (
    {"ordinary_cost": Argon2Cost(8, 1, 1)},
    {"ordinary_cost": Argon2Cost(16, 1, 1), "pepper": PEPPER_OLD.encode()},
    {
        "ordinary_cost": Argon2Cost(8, 2, 1),
        "pepper": PEPPER.encode(),
        "peppers_old": (PEPPER_OLD.encode(),),
    },
)

# What pg_dump writes for psql, or for its own version of the server alone.
_NOT_SQL = re.compile(r"^(?:\\.*|--.*|SET .*|SELECT pg_catalog\.set_config.*|)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    body: dict[str, Any]
    key: str | None
    answer: dict[str, Any]

    @property
    def inputs(self):
        return list(self.body.get("inputs", []))

    @property
    def outputs(self):
        return list(self.answer.get("rawOutputs") or self.body["outputs"])


def file_of(revision, database, kind):
    """Return where the file of a revision is, or will be: its `sql` or its `json`."""
    return SCHEMAS / f"{revision}.{database}.{kind}"


def released_revisions():
    return sorted({path.name.partition(".")[0] for path in SCHEMAS.iterdir()})


def read_requests(revision, database):
    text = file_of(revision, database, "json").read_text(encoding="utf-8")
    return [Request(**each) for each in json.loads(text)]


def load(revision, database_url):
    """Fill an empty database with the ledger of a revision, by no code of the service."""
    url = make_url(database_url)
    sql = file_of(revision, url.get_backend_name(), "sql").read_text(encoding="utf-8")
    if url.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(url.database or "")) as connection:
            connection.executescript(sql)
        return
    with psycopg.connect(database_url) as postgres:
        postgres.execute(sql.encode())


def make_asked(database_url):
    """Ask the service for mints, a split, claims, a join and a trade, in each epoch."""
    asked = []

    def ask(path, body, key=None):
        app = create_app(Settings(database_url, **EPOCHS[epoch]))
        answer = post(app.test_client(), path, body, key)
        app.extensions["deeds"].close()
        assert answer.status_code == 200, answer.text
        asked.append(Request(path, body, key, answer.get_json()))
        return answer.get_json().get("itemId")

    def mint(*outputs, metadata=None, key=None):
        return ask("/v1/mint", {"outputs": list(outputs), "metadata": metadata}, key)

    def swap(inputs, outputs, key=None):
        ask("/v1/swap", {"inputs": inputs, "outputs": outputs}, key)

    s = [make_strong_secret() for _ in range(6)]
    picture = {"name": "Anteil am Gartenhäuschen 🌱", "image": "https://example.org/a.png"}
    epoch = 0
    shed = mint("+60.first", f"+40.{s[0]}", metadata=picture, key="order 1")
    swap([f"+60.{shed}.first"], [f"+20.{shed}.a", f"+40.{shed}.b"])
    large = mint(f"+{AMOUNT_MAX - 500}.rest", f"+500.{s[1]}", key=s[5])
    epoch = 1
    swap([f"+40.{shed}.b"], [f"+40.{shed}.päßwort"], "order 2")
    key = "7f0c3f0e-2f0b-4a51-9a39-0f3f6a1d5c77"
    swap([f"+500.{large}.{s[1]}"], [f"+500.{large}.{s[2]}"], key)
    three = mint("+1.c", "+2.d", "+3.e", metadata={"description": "three"})
    epoch = 2
    traded = [f"+40.{shed}.päßwort", f"+500.{large}.{s[2]}", f"+1.{three}.c"]
    swap(
        traded,
        [f"+40.{shed}.{s[3]}", f"+500.{large}.of.two+parts", f"+1.{three}.{s[4]}"],
        "order 3",
    )
    swap([f"+2.{three}.d", f"+3.{three}.e"], [f"+5.{three}.joined"])
    mint("+7.last", key="order 4")
    return asked


def make_sqlite():
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "deeds.sqlite3"
        asked = make_asked(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as connection:
            return "\n".join(connection.iterdump()) + "\n", asked


def make_postgresql(pg_dump):
    with running_server() as server:
        url = PostgresCluster(server.get_uri()).create_migrated_database()
        asked = make_asked(url)
        command = [pg_dump, "--inserts", "--no-owner", "--no-privileges", "--encoding=UTF8", url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return _NOT_SQL.sub("", said), asked


def main(pg_dump="pg_dump"):
    """Write the four files; never over those that are there."""
    for database in DATABASES:
        sql, asked = make_sqlite() if database == "sqlite" else make_postgresql(pg_dump)
        said = json.dumps([asdict(each) for each in asked], ensure_ascii=False, indent=1)
        for kind, text in (("sql", sql), ("json", said + "\n")):
            with file_of(HEAD_REVISION, database, kind).open("x", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
