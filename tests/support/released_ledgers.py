"""Ledgers of released schemas.

SQL text under tests/support/schemas/, with what was asked of them.

They stand for the databases that people have, so a file that was released is never
changed. `python -m tests.support.released_ledgers PG_DUMP`, with the path of that
program, writes those of the newest revision, once, when it is released: it asks the
service and dumps what is there.
"""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url, text

from app import create_app
from deeds.domain.model import AMOUNT_MAX, Argon2Cost
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import Settings
from storage.schema import HEAD_REVISION
from tests.support.ledger_view import ledger_view
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
_NOT_SQL = re.compile(
    r"^(?:\\.*|--.*|SET .*|SELECT pg_catalog\.set_config.*|)\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    body: dict[str, Any]
    key: str | None
    answer: dict[str, Any]
    # The making of the offer that it completes.
    offer: dict[str, Any] | None = None

    @property
    def inputs(self):
        return [raw for each in self._moved() for raw in each.get("inputs", [])]

    @property
    def outputs(self):
        return [
            raw
            for each in self._moved()
            for raw in each.get("rawOutputs") or each["outputs"]
        ]

    def _moved(self):
        if self.path == "/v1/offers":
            return []
        return [
            self.answer if self.path == "/v1/mint" else self.body,
            self.offer or {"outputs": []},
        ]


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


class Asking:
    """Asks the service under the settings of one epoch after the other, and notes what
    it said.
    """

    def __init__(self, database_url):
        self.database_url, self.epoch, self.asked = database_url, 0, []

    def ask(self, path, body, key=None, offer=None):
        app = create_app(Settings(self.database_url, **EPOCHS[self.epoch]))
        answer = post(app.test_client(), path, body, key)
        app.extensions["deeds"].close()
        assert answer.status_code == 200, answer.text
        self.asked.append(Request(path, body, key, answer.get_json(), offer))
        return answer.get_json().get("itemId")

    def mint(self, *outputs, metadata=None, key=None):
        return self.ask(
            "/v1/mint", {"outputs": list(outputs), "metadata": metadata}, key
        )

    def swap(self, inputs, outputs, key=None):
        self.ask("/v1/swap", {"inputs": inputs, "outputs": outputs}, key)

    def offer(self, inputs, outputs, key=None):
        self.ask(
            "/v1/offers",
            {"inputs": inputs, "outputs": outputs, "expiresIn": 2592000},
            key,
        )

    def complete_last(self, inputs, outputs, key=None):
        made = self.asked[-1]
        path = f"/v1/offers/{made.answer['offerId']}/complete"
        self.ask(path, {"inputs": inputs, "outputs": outputs}, key, made.body)


def make_asked(database_url):
    """Ask the service for mints, a split, claims, a join, a trade and offers, in each
    epoch.
    """
    to = Asking(database_url)
    s = [make_strong_secret() for _ in range(14)]
    picture = {
        "name": "Anteil am Gartenhäuschen 🌱",
        "image": "https://example.org/a.png",
    }
    shed = to.mint("+60.first", f"+40.{s[0]}", metadata=picture, key="order 1")
    to.swap([f"+60.{shed}.first"], [f"+20.{shed}.a", f"+40.{shed}.b"])
    large = to.mint(f"+{AMOUNT_MAX - 500}.rest", f"+500.{s[1]}", key=s[5])
    to.offer([], [f"+15.{shed}.{s[6]}"], "request 1")
    to.complete_last([f"+20.{shed}.a"], [f"+5.{shed}.change"], "payment 1")
    to.offer([], [f"+1.{shed}.{s[7]}"], "ended by the next pepper")
    to.epoch = 1
    to.swap([f"+40.{shed}.b"], [f"+40.{shed}.päßwort"], "order 2")
    key = "7f0c3f0e-2f0b-4a51-9a39-0f3f6a1d5c77"
    to.swap([f"+500.{large}.{s[1]}"], [f"+500.{large}.{s[2]}"], key)
    to.offer([f"+40.{shed}.{s[0]}"], [f"+100.{large}.{s[8]}"], s[9])
    before, after = (f"+{AMOUNT_MAX - each}.{large}.rest" for each in (500, 600))
    to.complete_last([before], [f"{after} 2", f"+40.{shed}.b 2"])
    three = to.mint("+1.c", "+2.d", "+3.e", metadata={"description": "three"})
    to.epoch = 2
    traded = [f"+40.{shed}.päßwort", f"+500.{large}.{s[2]}", f"+1.{three}.c"]
    got = [f"+40.{shed}.{s[3]}", f"+500.{large}.of.two+parts", f"+1.{three}.{s[4]}"]
    to.swap(traded, got, "order 3")
    to.swap([f"+2.{three}.d", f"+3.{three}.e"], [f"+5.{three}.joined"])
    to.mint("+7.last", key="order 4")
    to.offer(
        [f"+15.{shed}.{s[6]}"],
        [f"+10.{shed}.{s[10]}", f"+9.{large}.{s[11]}"],
        "open trade",
    )
    to.offer([], [f"+5.{three}.{s[12]}"])
    to.offer([f"+100.{large}.{s[8]}"], [f"+1.{three}.{s[13]}"], "withdrawn trade")
    to.swap([f"+100.{large}.{s[8]}"], [f"+100.{large}.withdrawn"])
    return with_offers_of_now(to.asked, database_url)


def with_offers_of_now(asked, database_url):
    """Let the offers expire when no test runs any more, and return each as it is in the
    end.
    """
    with ledger_view(database_url) as view, view.engine.connect() as connection:
        connection.execute(text("UPDATE offers SET expires_at = :end"), {"end": 2**32})
        connection.commit()
    app = create_app(Settings(database_url, **EPOCHS[-1]))
    client = app.test_client()
    offers = {
        offer_id: client.get(f"/v1/offers/{offer_id}").get_json()
        for each in asked
        if (offer_id := each.answer.get("offerId"))
    }
    app.extensions["deeds"].close()
    return [
        replace(each, answer=offers.get(each.answer.get("offerId"), each.answer))
        for each in asked
    ]


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
        command = [
            pg_dump,
            "--inserts",
            "--no-owner",
            "--no-privileges",
            "--encoding=UTF8",
            url,
        ]
        said = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout
    return _NOT_SQL.sub("", said), asked


def main(pg_dump="pg_dump"):
    """Write the four files; never over those that are there."""
    for database in DATABASES:
        sql, asked = make_sqlite() if database == "sqlite" else make_postgresql(pg_dump)
        said = json.dumps(
            [asdict(each) for each in asked], ensure_ascii=False, indent=1
        )
        for kind, content in (("sql", sql), ("json", said + "\n")):
            with file_of(HEAD_REVISION, database, kind).open(
                "x", encoding="utf-8"
            ) as file:
                file.write(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
