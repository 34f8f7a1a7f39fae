"""What an operator learns from `deeds audit`, `stats`, `policies` and `secret`."""

from functools import partial

import pytest

from deeds.hashing import pepper_fingerprint
from tests.support.commanding import (
    DEEDS,
    output_of,
    run_deeds,
    run_redirected,
)
from tests.support.databases import on_sqlite
from tests.support.ledger_view import LedgerView
from tests.support.strong_secrets import is_strong_secret

OLD, NEW = "o" * 32, "n" * 32

COUNTS = """\
items                          2
mints                          2
swaps                          1
live outputs                   4
spent outputs                  1
offers made                    0
offers completed               0
"""


@pytest.fixture
def item(api):
    """An item of two operations, beside another one."""
    item = api.mint("+5.a", "+3.b")
    api.mint("+1.a")
    api.swap(f"+5.{item}.a", [f"+2.{item}.c", f"+3.{item}.d"])
    return item


def break_total(settings):
    ledger = LedgerView(settings["DATABASE_URL"])
    ledger.execute("UPDATE items SET total = 9 WHERE total = 8")


@pytest.fixture
def run_at(settings):
    """A function that runs a command with a stream as a shell redirects it."""
    return partial(run_redirected, DATABASE_URL=settings["DATABASE_URL"])


@on_sqlite
def test_what_cannot_be_printed_fails_and_nothing_else_is_blamed(
    item, run_at, tmp_path
):
    audit = run_at(">/dev/full", *DEEDS, "audit")
    backup = run_at(">/dev/full", *DEEDS, "backup", tmp_path / "copy")

    full = (1, "Error: standard output: No space left on device\n")
    assert (audit.returncode, audit.stderr) == full
    assert (backup.returncode, backup.stderr) == full
    assert not (tmp_path / "copy").exists()


@on_sqlite
def test_audit_tells_a_broken_ledger_whatever_takes_its_output(item, settings, run_at):
    break_total(settings)

    audits = [run_at(where, *DEEDS, "audit") for where in (">/dev/full", "2>/dev/full")]

    assert [(each.returncode, each.stdout) for each in audits] == [(1, "")] * 2
    assert audits[0].stderr.startswith("Error: the ledger violates these invariants:\n")


INVALID_OF_OTHERS = {
    "DEEDS_ARGON2": "much",
    "DEEDS_LOG": "loud",
    "DEEDS_PEPPER": "short",
    "PORT": "http",
    "WEB_CONCURRENCY": "many",
}


@pytest.mark.parametrize("command", ["audit", "migrate", "secret"])
def test_a_command_looks_only_at_the_settings_that_it_uses(run_at, settings, command):
    url = settings["DATABASE_URL"]
    where = {} if command == "secret" else {"DATABASE_URL": url}

    ran = run_deeds(command, **INVALID_OF_OTHERS, DYNO="run.1", **where)
    forgotten = run_deeds("migrate", DYNO="run.1")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert (forgotten.returncode, forgotten.stderr.count("\n")) == (1, 1)
    assert forgotten.stderr.startswith("deeds: DATABASE_URL is not set")


@on_sqlite
def test_a_wrong_setting_has_its_exit_code_where_nobody_can_be_told(run_at):
    ran = run_at("2>/dev/full", *DEEDS, "policies", DEEDS_ARGON2="much")

    assert (ran.returncode, ran.stdout) == (1, "")


def test_stats_counts_everything(item, settings):
    counts, size = output_of(settings, "stats").split("bytes on disk")

    assert counts == COUNTS
    assert int(size.replace(",", "")) > 4096


def test_policies_shows_costs_and_peppers_with_the_items_that_need_them(
    settings, open_api
):
    changes = {"DEEDS_PEPPER": NEW, "DEEDS_PEPPERS_OLD": OLD}
    changes["DEEDS_ARGON2"] = "m=16,t=1,p=1"
    open_api(DEEDS_PEPPER=OLD).mint("+5.a", "+3.b")
    api = open_api(**changes)
    api.mint("+5.a")
    api.mint("+5.a")

    printed = output_of(settings | changes, "policies")

    assert [line.split() for line in printed.splitlines()] == [
        ["cost", "pepper", "items"],
        ["m=8,t=1,p=1", pepper_fingerprint(OLD.encode()), "1"],
        ["m=16,t=1,p=1", pepper_fingerprint(NEW.encode()), "2", "current"],
    ]


def test_secret_prints_strong_secrets_and_needs_no_database(tmp_path):
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 'deeds.db'}"}

    one = output_of(settings, "secret")
    ran = run_deeds("secret", "--count", "20", **settings)

    secrets = {*one.splitlines(), *ran.stdout.splitlines()}
    assert len(secrets) == 1 + 20
    assert all(is_strong_secret(secret) for secret in secrets)
    assert list(tmp_path.iterdir()) == []
