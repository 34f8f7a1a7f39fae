"""Writes the ledger of the newest revision into tests/support/schemas/, once, when it is released.

`python -m tests.support.make_released_ledger PG_DUMP`, with the path of that program, asks the
service on each database and dumps what is there.
"""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app import create_app
from deeds.domain.model import AMOUNT_MAX
from deeds.domain.strong_secret import make_strong_secret
from deeds.settings import Settings
from storage.engine import make_engine, parse_database_url
from storage.schema import HEAD_REVISION, migrate
from tests.support.postgres import PostgresCluster, running_server
from tests.support.released_ledgers import DATABASES, EPOCHS, Request, file_of
from tests.support.requests import post

Answered = list[Request]
Step = tuple[str, Callable[[Answered], dict[str, Any]], str | None]

# What pg_dump writes for psql, or for its own version of the server alone.
_NOT_SQL = re.compile(r"^(?:\\.*|--.*|SET .*|SELECT pg_catalog\.set_config.*|)\n", re.MULTILINE)


def mint(*outputs: str, metadata: dict[str, str] | None = None, key: str | None = None) -> Step:
    """Return a mint."""
    return "/v1/mint", lambda _: {"outputs": list(outputs), "metadata": metadata}, key


def swap(inputs: list[str], outputs: list[str], key: str | None = None) -> Step:
    """Return a swap of raw outputs that have the number of a mint instead of the item's id."""

    def body(answered: Answered) -> dict[str, Any]:
        ids = [each.answer["itemId"] for each in answered if each.path == "/v1/mint"]
        named = [re.sub(r"\.(\d)\.", lambda at: f".{ids[int(at[1])]}.", raw) for raw in inputs]
        new = [re.sub(r"\.(\d)\.", lambda at: f".{ids[int(at[1])]}.", raw) for raw in outputs]
        return {"inputs": named, "outputs": new}

    return "/v1/swap", body, key


def scenario() -> list[list[Step]]:
    """Return what each epoch is asked: mints, a split, claims, a join and a trade."""
    s = [make_strong_secret() for _ in range(6)]
    shed = {"name": "Anteil am Gartenhäuschen 🌱", "image": "https://example.org/a.png"}
    return [
        [
            mint("+60.first", f"+40.{s[0]}", metadata=shed, key="order 1"),
            swap(["+60.0.first"], ["+20.0.a", "+40.0.b"]),
            mint(f"+{AMOUNT_MAX - 500}.rest", f"+500.{s[1]}", key=s[5]),
        ],
        [
            swap(["+40.0.b"], ["+40.0.päßwort"], key="order 2"),
            swap(
                [f"+500.1.{s[1]}"], [f"+500.1.{s[2]}"], key="7f0c3f0e-2f0b-4a51-9a39-0f3f6a1d5c77"
            ),
            mint("+1.c", "+2.d", "+3.e", metadata={"description": "three"}),
        ],
        [
            swap(
                ["+40.0.päßwort", f"+500.1.{s[2]}", "+1.2.c"],
                [f"+40.0.{s[3]}", "+500.1.of.two+parts", f"+1.2.{s[4]}"],
                key="order 3",
            ),
            swap(["+2.2.d", "+3.2.e"], ["+5.2.joined"]),
            mint("+7.last", key="order 4"),
        ],
    ]


def fill(database_url: str) -> Answered:
    """Ask the service under the settings of each epoch."""
    answered: Answered = []
    for epoch, steps in zip(EPOCHS, scenario(), strict=True):
        app = create_app(Settings(database_url, **epoch))
        for path, make_body, key in steps:
            body = make_body(answered)
            answer = post(app.test_client(), path, body, key)
            assert answer.status_code == 200, answer.text
            answered.append(Request(path, body, key, answer.get_json()))
        app.extensions["deeds"].close()
    return answered


def make_sqlite() -> tuple[str, Answered]:
    """Return a dump and what was asked."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "deeds.sqlite3"
        answered = fill(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as connection:
            return "\n".join(connection.iterdump()) + "\n", answered


def make_postgresql(pg_dump: str) -> tuple[str, Answered]:
    """Return a dump and what was asked."""
    with running_server() as server:
        url = PostgresCluster(server.get_uri()).create_database()
        engine = make_engine(parse_database_url(url))
        migrate(engine)
        engine.dispose()
        answered = fill(url)
        command = [pg_dump, "--inserts", "--no-owner", "--no-privileges", "--encoding=UTF8", url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return _NOT_SQL.sub("", said), answered


def main(pg_dump: str = "pg_dump") -> None:
    """Write the four files; never over those that are there."""
    for database in DATABASES:
        sql, answered = make_sqlite() if database == "sqlite" else make_postgresql(pg_dump)
        asked = json.dumps([asdict(each) for each in answered], ensure_ascii=False, indent=1)
        for kind, text in (("sql", sql), ("json", asked + "\n")):
            with file_of(HEAD_REVISION, database, kind).open("x", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
