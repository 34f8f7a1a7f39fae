"""What releases have left behind: a directory of files for each of them."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.api import environ_of

RELEASED = Path(__file__).parent
RELEASES = sorted(RELEASED.glob("*.*.*"))

PEPPER = "a-pepper-that-everybody-may-read-here"
PASSPHRASE = "six words that everybody may read"
# Wallets keep the address of their service.
ADDRESS = "https://deeds.example"


def settings_of(url):
    """Return the environment of a service on such a ledger."""
    return environ_of(url, DEEDS_PEPPER=PEPPER)


def facts_of(release, database):
    """Return what later code must know of a ledger, and of the wallet with SQLite."""
    return json.loads((release / f"{database}.json").read_text())


def load_sqlite(release, name, path):
    """Make an SQLite file of a dump."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((release / name).read_text())


def load_ledger(release, directory):
    """Make the SQLite ledger with its checkpoint file; return its URL."""
    path = directory / "deeds.sqlite3"
    load_sqlite(release, "sqlite.sql", path)
    shutil.copy(release / "checkpoint", f"{path}-checkpoint")
    return f"sqlite:///{path}"
