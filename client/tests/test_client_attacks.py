"""What could lose units all the same: locks that end, backups that nobody can read."""

import subprocess
import sys

import pytest

from deeds_client import records as records_module
from deeds_client.errors import WalletFileError
from deeds_client.records import Store


def test_to_open_a_wallet_ends_no_lock_of_another_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(records_module, "_BUSY_S", 0.01)
    path = tmp_path / "wallet"
    other = f"import sqlite3; sqlite3.connect({str(path)!r}, 0.01).execute('BEGIN IMMEDIATE')"
    with Store(path).transaction():
        with pytest.raises(WalletFileError, match="in use"):
            Store(path)
        ended = subprocess.run([sys.executable, "-c", other], check=False, capture_output=True)

    assert b"database is locked" in ended.stderr
