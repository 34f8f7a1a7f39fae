"""What an operator learns from `deeds audit`, `stats`, `policies` and `secret`."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from deeds.domain.model import Argon2Cost
from deeds.domain.policies import pepper_fingerprint
from deeds.domain.raw_output import is_strong_secret
from deeds.settings import Settings
from tests.support.commanding import invoke, output_of, run_deeds
from tests.support.ledger_view import ledger_view

OLD, NEW = b"o" * 32, b"n" * 32

COUNTS = """\
items                          2
mints                          2
swaps                          1
offers made                    0
offers completed               0
live outputs                   4
spent outputs                  1
"""


@pytest.fixture
def item(api):
    """An item of two operations, beside another one."""
    item = api.mint("+5.a", "+3.b")
    api.mint("+1.a")
    api.swap(f"+5.{item}.a", [f"+2.{item}.c", f"+3.{item}.d"])
    return item


def test_audit_says_that_every_invariant_holds_with_the_counts(item, settings):
    assert output_of(settings, "audit") == f"{COUNTS}Every invariant holds.\n"


def test_audit_of_a_broken_ledger_names_the_places(item, settings):
    with ledger_view(settings.database_url) as view:
        view.execute(text("UPDATE items SET total = 9 WHERE total = 8"))

    ran = invoke(settings, "audit")

    assert (ran.exit_code, ran.stdout) == (1, COUNTS)
    assert ran.stderr.startswith("Error: the ledger violates these invariants:\n")
    assert f"\n  the live outputs of an item sum to its total: {item}\n" in ran.stderr


def test_stats_counts_everything(item, settings):
    counts, size = output_of(settings, "stats").split("bytes on disk")

    assert counts == COUNTS
    assert int(size.replace(",", "")) > 4096


def test_policies_shows_costs_and_peppers_with_the_items_that_need_them(
    settings, open_api
):
    cost = Argon2Cost(16, 1, 1)
    changes = {"pepper": NEW, "peppers_old": (OLD,), "ordinary_cost": cost}
    open_api(pepper=OLD).mint("+5.a", "+3.b")
    api = open_api(**changes)
    api.mint("+5.a")
    api.mint("+5.a")

    printed = output_of(replace(settings, **changes), "policies")

    assert [line.split() for line in printed.splitlines()] == [
        ["cost", "pepper", "items"],
        ["m=8,t=1,p=1", pepper_fingerprint(OLD), "1"],
        ["m=16,t=1,p=1", pepper_fingerprint(NEW), "2", "current"],
    ]


def test_secret_prints_strong_secrets_and_needs_no_database(tmp_path):
    settings = Settings(f"sqlite:///{tmp_path / 'deeds.db'}")

    one = output_of(settings, "secret")
    ran = run_deeds("secret", "--count", "20", DATABASE_URL=settings.database_url)

    secrets = {*one.splitlines(), *ran.stdout.splitlines()}
    assert len(secrets) == 1 + 20
    assert all(is_strong_secret(secret) for secret in secrets)
    assert list(tmp_path.iterdir()) == []
