"""What an operator learns from `deeds audit`, `policies` and `secret`."""

import pytest

from deeds.hashing import pepper_fingerprint
from tests.support.commanding import DEEDS, output_of, run_deeds, run_redirected
from tests.support.ledger_view import LedgerView
from tests.support.strong_secrets import is_strong_secret

OLD, NEW = "o" * 32, "n" * 32

INVALID_OF_OTHERS = {
    "DEEDS_ARGON2": "much",
    "DEEDS_LOG": "loud",
    "DEEDS_PEPPER": "short",
    "PORT": "http",
    "WEB_CONCURRENCY": "many",
}


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def url(api, settings):
    """The URL of a ledger with an item."""
    api.mint("+5.a")
    return settings["DATABASE_URL"]


def test_what_cannot_be_printed_fails_and_nothing_else_is_blamed(url, tmp_path):
    copy = tmp_path / "copy"

    ran = run_redirected(">/dev/full", *DEEDS, "backup", copy, DATABASE_URL=url)

    assert ran.returncode == 1
    assert ran.stderr == "Error: standard output: No space left on device\n"
    assert not copy.exists()


def test_audit_tells_a_broken_ledger_by_its_exit_code_alone(url):
    LedgerView(url).execute("UPDATE items SET total = 9")

    ran = run_redirected("2>/dev/full", *DEEDS, "audit", DATABASE_URL=url)

    assert (ran.returncode, ran.stdout) == (1, "")


def test_a_command_looks_only_at_the_settings_that_it_uses(url):
    ran = run_deeds("audit", **INVALID_OF_OTHERS, DATABASE_URL=url)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_secret_prints_strong_secrets_and_needs_no_database(tmp_path):
    nowhere = f"sqlite:///{tmp_path}/nowhere/deeds.sqlite3"

    printed = output_of({"DATABASE_URL": nowhere}, "secret", "--count", "20")

    secrets = set(printed.splitlines())
    assert len(secrets) == 20
    assert all(is_strong_secret(secret) for secret in secrets)
    assert list(tmp_path.iterdir()) == []


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
