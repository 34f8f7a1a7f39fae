"""What an operator learns from `deeds audit`, `stats`, `schemes` and `secret`."""

import os
from dataclasses import replace

import pytest
from sqlalchemy import text

from deeds.domain.hashing import pepper_fingerprint
from deeds.domain.model import Argon2Cost
from deeds.domain.raw_output import is_strong_secret, make_strong_secret
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


def test_audit_of_a_ledger_that_violates_one_ends_with_exit_code_1_and_the_places(
    item, settings
):
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


def test_schemes_tells_what_each_guards_and_that_an_old_pepper_must_stay(
    settings, open_app
):
    client = open_app(replace(settings, pepper=OLD)).test_client()
    item = mint(client, "+5.a", f"+3.{make_strong_secret()}", "+1.b")
    now = replace(
        settings, pepper=NEW, peppers_old=(OLD,), ordinary_cost=Argon2Cost(16, 1, 1)
    )
    swap(open_app(now).test_client(), [f"+5.{item}.a"], [f"+5.{item}.c"])
    old, new = pepper_fingerprint(OLD), pepper_fingerprint(NEW)

    ran = invoke(now, "schemes")

    assert (ran.exit_code, ran.stderr) == (0, "")
    _, *schemes = words(ran.stdout)[:5]
    assert sorted(row[1:] for row in schemes) == sorted(
        [
            ["ordinary", "m=8,t=1,p=1", old, "1", "1"],
            ["strong", "m=8,t=1,p=1", old, "1", "0"],
            ["ordinary", "m=16,t=1,p=1", new, "1", "0", "current"],
            ["strong", "m=8,t=1,p=1", new, "0", "0", "current"],
        ]
    )
    assert f"Pepper {old} must stay: it guards 2 live outputs." in ran.stdout
    assert f"Pepper {new} is the current one." in ran.stdout


def test_a_pepper_that_guards_nothing_live_may_go_and_then_can(settings, open_app):
    item = mint(open_app(replace(settings, pepper=OLD)).test_client(), "+5.a")
    client = open_app(replace(settings, peppers_old=(OLD,))).test_client()
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    printed = invoke(settings, "schemes").stdout

    fingerprint = pepper_fingerprint(OLD)
    assert f"Pepper {fingerprint} can be removed: it guards no live output." in printed
    client = open_app(settings).test_client()
    assert swap(client, [f"+5.{item}.b"], [f"+5.{item}.c"]).status_code == 200


def test_secret_prints_as_many_strong_secrets_as_asked_for_and_needs_no_database(
    tmp_path,
):
    url = f"sqlite:///{tmp_path / 'deeds.db'}"

    one = invoke(Settings(url), "secret").stdout.splitlines()
    more = run_deeds("secret", "--count", "20", DATABASE_URL=url).stdout.splitlines()

    assert (len(one), len(set(one + more))) == (1, 21)
    assert all(is_strong_secret(secret) for secret in one + more)
    assert list(tmp_path.iterdir()) == []
    assert invoke(Settings(url), "secret", "--count", "10001").exit_code == 2
