"""What an operator learns from `deeds audit`, `stats`, `policies` and `secret`."""

import os
from dataclasses import replace

import pytest
from sqlalchemy import text

from deeds.domain.model import Argon2Cost
from deeds.domain.policies import pepper_fingerprint
from deeds.domain.raw_output import is_strong_secret
from deeds.settings import Settings
from storage.engine import make_engine, parse_database_url
from storage.transactions import WRITES
from tests.support.commanding import invoke, run_deeds
from tests.support.requests import mint, swap

OLD, NEW = b"o" * 32, b"n" * 32


def words(printed):
    return [line.split() for line in printed.splitlines()]


@pytest.fixture
def item(client):
    """An item of two operations, beside another one."""
    item = mint(client, "+5.a", "+3.b")
    mint(client, "+1.a")
    swap(client, [f"+5.{item}.a"], [f"+2.{item}.c", f"+3.{item}.d"])
    return item


COUNTS = [
    ["items", "2"],
    ["mints", "2"],
    ["swaps", "1"],
    ["offers", "made", "0"],
    ["offers", "completed", "0"],
    ["live", "outputs", "4"],
    ["spent", "outputs", "1"],
]


def test_audit_says_that_every_invariant_holds_with_the_counts(item, settings):
    ran = invoke(settings, "audit")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert words(ran.stdout) == [*COUNTS, ["Every", "invariant", "holds."]]


def test_audit_of_a_broken_ledger_ends_with_exit_code_1_and_the_places(item, settings):
    engine = make_engine(parse_database_url(settings.database_url))
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        connection.execute(text("UPDATE items SET total = 9 WHERE total = 8"))
    engine.dispose()

    ran = invoke(settings, "audit")

    assert (ran.exit_code, words(ran.stdout)) == (1, COUNTS)
    assert ran.stderr.startswith("Error: the ledger violates these invariants:\n")
    assert f"\n  the live outputs of an item sum to its total: {item}\n" in ran.stderr


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_audit_of_a_damaged_file_ends_in_one_line_or_names_the_damage(
    client, settings, tmp_path
):
    mint(client, *(f"+1.{number}" for number in range(256)))
    client.application.extensions["deeds"].close()
    with (tmp_path / "deeds.sqlite3").open("r+b") as file:
        file.seek(
            -4096 * 6, os.SEEK_END
        )  # What was written last, not what the start reads.
        file.write(b"\xff" * 4096 * 6)

    ran = invoke(settings, "audit")

    assert ran.exit_code == 1
    assert (
        "malformed" in ran.stderr or "the database itself is not damaged" in ran.stderr
    )
    assert "Traceback" not in ran.stderr


def test_stats_counts_everything_and_shows_the_size(item, settings, tmp_path):
    ran = invoke(settings, "stats")

    assert (ran.exit_code, ran.stderr) == (0, "")
    *counts, size = words(ran.stdout)
    assert (counts, size[:3]) == (COUNTS, ["bytes", "on", "disk"])
    shown = int(size[3].replace(",", ""))
    if settings.database_url.startswith("sqlite"):
        files = [tmp_path / f"deeds.sqlite3{suffix}" for suffix in ("", "-wal", "-shm")]
        assert shown == sum(file.stat().st_size for file in files)
    else:
        assert shown > 4096


def test_policies_shows_costs_and_peppers_with_the_items_that_need_them(
    settings, open_app
):
    mint(open_app(replace(settings, pepper=OLD)).test_client(), "+5.a", "+3.b")
    now = replace(
        settings, pepper=NEW, peppers_old=(OLD,), ordinary_cost=Argon2Cost(16, 1, 1)
    )
    client = open_app(now).test_client()
    mint(client, "+5.a")
    mint(client, "+5.a")

    ran = invoke(now, "policies")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert words(ran.stdout) == [
        ["cost", "pepper", "items"],
        ["m=8,t=1,p=1", pepper_fingerprint(OLD), "1"],
        ["m=16,t=1,p=1", pepper_fingerprint(NEW), "2", "current"],
    ]


def test_secret_prints_strong_secrets_and_needs_no_database(
    tmp_path,
):
    url = f"sqlite:///{tmp_path / 'deeds.db'}"

    one = invoke(Settings(url), "secret").stdout.splitlines()
    more = run_deeds("secret", "--count", "20", DATABASE_URL=url).stdout.splitlines()

    assert (len(one), len(set(one + more))) == (1, 21)
    assert all(is_strong_secret(secret) for secret in one + more)
    assert list(tmp_path.iterdir()) == []
    assert invoke(Settings(url), "secret", "--count", "10001").exit_code == 2
