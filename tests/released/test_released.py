"""What each release has left behind is read by this code (docs/releases.md)."""

import json
import shutil

import httpx
import psycopg
import pytest

from deeds_client import Deeds, Wallet
from deeds_client.values import OperationState
from tests.released.kept import (
    ADDRESS,
    PASSPHRASE,
    RELEASES,
    facts_of,
    load_ledger,
    load_sqlite,
    settings_of,
)
from tests.support.api import Api, fresh, good, opened, replayed, stop_line
from tests.support.commanding import output_of

on_each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda it: it.name)


@pytest.fixture
def sqlite_ledger(release, tmp_path):
    return load_ledger(release, tmp_path)


@pytest.fixture
def postgresql_ledger(release, postgres_url):
    with psycopg.connect(postgres_url) as connection:
        connection.execute((release / "postgresql.sql").read_text())
    return postgres_url


def opened_then(url, at_ms):
    """Open a ledger at the time of the release, when its offers are open."""
    return opened(settings_of(url), clock=lambda: at_ms)


@on_each_release
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_ledger_is_upgraded_and_its_units_keys_and_offers_go_on(
    database, release, request
):
    facts = facts_of(release, database)
    url = request.getfixturevalue(f"{database}_ledger")

    output_of(settings_of(url), "migrate")

    with opened_then(url, facts["atMs"]) as app:
        api = Api.of_app(app)
        live, spent = facts["live"], facts["spent"]
        assert api.check(*live, *spent) == ["unspent"] * 3 + ["spent"] * 2
        for sent in facts["requests"]:
            again = api.post(sent["path"], sent["body"], sent["key"])
            assert replayed(again) == sent["answer"]
        item_id = live[1].split(".")[1]
        good(api.complete(facts["open"], live[1], fresh(2, item_id)))
        good(api.swap(live[0], fresh(5, item_id)))
        item = good(api.get(f"/v1/item/{item_id}"))
        assert json.loads(item["metadata"])["name"] == "Night Choir"
    output_of(settings_of(url), "audit")


@on_each_release
def test_a_checkpoint_still_guards_against_an_older_ledger(release, tmp_path, open_app):
    """The ledger is new, and so lacks the operation that the file names."""
    path = tmp_path / "deeds.sqlite3"
    shutil.copy(release / "checkpoint", f"{path}-checkpoint")

    line = stop_line(open_app, settings_of(f"sqlite:///{path}"))

    assert "accept-rollback" in line


@on_each_release
@pytest.mark.parametrize("kept_in", ["its own file", "a backup"])
def test_a_wallet_holds_and_moves_what_it_held(
    kept_in, release, sqlite_ledger, tmp_path
):
    facts = facts_of(release, "sqlite")
    wallet_facts, path = facts["wallet"], tmp_path / "anna.wallet"
    if kept_in == "its own file":
        load_sqlite(release, "wallet.sql", path)
    with opened_then(sqlite_ledger, facts["atMs"]) as app:
        transport = httpx.WSGITransport(app=app)
        with (
            Deeds(ADDRESS, transport=transport) as deeds,
            Wallet(path, deeds) as wallet,
        ):
            if kept_in == "a backup":
                wallet.restore(release / "wallet.json", PASSPHRASE, own=True)
            wallet.sync(look=True)
            holdings = wallet.balance()
            assert wallet_facts["heldOrGiven"] == {
                item_id: holding.held + holding.given
                for item_id, holding in holdings.items()
            }
            assert wallet.find("rent").state == OperationState.OPEN
            sent = wallet.send(wallet_facts["shares"], 80)
            assert Api.of_app(app).check(sent.output.raw) == ["unspent"]
