"""The ledger of every released schema is upgraded whole, and served, on both databases."""

import json
import re

import pytest
from sqlalchemy import MetaData, inspect, select

from deeds.settings import Settings
from storage.schema import HEAD_REVISION, migrate
from tests.support.ledger_view import LedgerView
from tests.support.migrating import revisions, words
from tests.support.released_ledgers import (
    DATABASES,
    EPOCHS,
    file_of,
    load,
    read_requests,
    released_revisions,
)
from tests.support.requests import check, post, swap
from tests.support.starting import run_migrate

RAW = re.compile(r"\+(\d+)\.(deed_[0-9a-z]{26})\.(.*)")


@pytest.fixture(params=released_revisions())
def revision(request):
    return request.param


@pytest.fixture
def old_url(revision, new_url):
    """The URL of a database with the ledger of that revision."""
    load(revision, url := new_url())
    return url


@pytest.fixture
def asked(revision, database):
    return read_requests(revision, database)


def rows(engine, columns):
    """Return the rows of all tables, as far as the columns go that are asked for."""
    tables = MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        return {
            name: sorted(
                connection.execute(select(*(tables.tables[name].c[each] for each in names))).all(),
                key=repr,
            )
            for name, names in columns.items()
        }


def columns(engine):
    found = inspect(engine)
    return {
        name: [column["name"] for column in found.get_columns(name)]
        for name in found.get_table_names()
        if name != "alembic_version"
    }


def live_and_spent(asked):
    """Return the raw outputs that the requests left unspent, and those that they spent."""
    spent = {raw for each in asked for raw in each.inputs}
    created = [raw for each in asked for raw in each.outputs]
    return [raw for raw in created if raw not in spent], sorted(spent)


def test_there_is_a_ledger_of_every_revision_for_each_database():
    """Where one is missing: `python -m tests.support.released_ledgers`."""
    wanted = {
        file_of(revision, database, kind)
        for revision in revisions()
        for database in DATABASES
        for kind in ("sql", "json")
    }

    assert [path.name for path in sorted(wanted) if not path.exists()] == []


def test_migrate_keeps_every_row_of_a_ledger_that_holds_all_that_it_could_lose(
    old_url, new_url, open_engine
):
    engine, new_engine = open_engine(old_url), open_engine(new_url())
    had = columns(engine)
    before = rows(engine, had)
    found = LedgerView(engine).rows()
    kinds = {(row[1], row[2] is None) for row in found["operations"]}
    states = {row[-1] is None for row in found["outputs"]}
    texts = {row[2] is None for row in found["items"]}
    assert kinds == {(kind, keyless) for kind in ("mint", "swap") for keyless in (True, False)}
    assert states == texts == {True, False}
    assert len({(row[1], row[5]) for row in found["hash_schemes"]}) == 6
    assert max(row[1] for row in found["items"]) == 2**53 - 1

    ran = run_migrate(DATABASE_URL=old_url)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"revision {HEAD_REVISION}" in ran.stdout or f"to {HEAD_REVISION}" in ran.stdout
    assert rows(engine, had) == before
    migrate(new_engine)
    assert columns(engine) == columns(new_engine)
    assert words(engine) == words(new_engine)


@pytest.fixture
def client(old_url, open_app):
    """A client of the service on the upgraded ledger: a start upgrades one on SQLite by itself."""
    if not old_url.startswith("sqlite"):
        run_migrate(DATABASE_URL=old_url)
    return open_app(Settings(old_url, **EPOCHS[-1])).test_client()


def test_an_upgraded_ledger_answers_as_it_did_before_and_every_live_secret_buys_its_units_once(
    client, old_url, asked, open_engine
):
    live, spent = live_and_spent(asked)
    keyed = [each for each in asked if each.key is not None]
    mints = [each for each in asked if each.path == "/v1/mint"]
    view = LedgerView(open_engine(old_url))

    view.assert_sound()
    states = check(client, *live, *spent)
    replays = [post(client, each.path, each.body, each.key) for each in keyed]
    items = [client.get(f"/v1/item/{each.answer['itemId']}").get_json() for each in mints]

    assert states == ["unspent"] * len(live) + ["spent"] * len(spent)
    assert [answer.get_json() for answer in replays] == [each.answer for each in keyed]
    assert {answer.headers["Idempotency-Replayed"] for answer in replays} == {"true"}
    assert [(item["id"], item["total"]) for item in items] == [
        (each.answer["itemId"], sum(output["amount"] for output in each.answer["outputs"]))
        for each in mints
    ]
    assert [item["metadata"] and json.loads(item["metadata"]) for item in items] == [
        each.body["metadata"] for each in mints
    ]

    new = [RAW.sub(rf"+\1.\2.claimed {number}", raw) for number, raw in enumerate(live)]
    claimed = [swap(client, [old], [fresh]) for old, fresh in zip(live, new, strict=True)]
    again = [swap(client, [old], [f"{old[:-1]}!"]) for old in [*live, *spent]]

    assert [answer.status_code for answer in claimed] == [200] * len(live)
    assert [answer.status_code for answer in again] == [400] * len(live + spent)
    assert check(client, *live, *new) == ["spent"] * len(live) + ["unspent"] * len(new)
    view.assert_sound()
    assert len(view.operations()) == len(asked) + len(live)
