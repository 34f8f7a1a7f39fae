"""`deeds stats` and `deeds schemes`: what an operator learns from them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deeds.domain.hashing import pepper_fingerprint
from deeds.domain.model import Argon2Cost
from deeds.domain.strong_secret import make_strong_secret
from tests.support.commanding import invoke
from tests.support.requests import mint, swap

OLD, NEW = b"o" * 32, b"n" * 32


def words(printed):
    return [line.split() for line in printed.splitlines()]


def test_stats_counts_everything_and_tells_the_size(client, settings):
    item = mint(client, "+5.a", "+3.b")
    mint(client, "+1.a")
    swap(client, [f"+5.{item}.a"], [f"+2.{item}.c", f"+3.{item}.d"])

    ran = invoke(settings, "stats")

    assert (ran.exit_code, ran.stderr) == (0, "")
    *counts, size = words(ran.stdout)
    assert counts == [
        ["items", "2"],
        ["mints", "2"],
        ["swaps", "1"],
        ["live", "outputs", "4"],
        ["spent", "outputs", "1"],
    ]
    assert size[:3] == ["bytes", "on", "disk"]
    assert int(size[3].replace(",", "")) > 4096


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_size_of_an_sqlite_ledger_is_that_of_its_files(client, settings, tmp_path):
    mint(client, "+5.a")

    printed = invoke(settings, "stats").stdout

    files = [Path(f"{tmp_path}/deeds.sqlite3{suffix}") for suffix in ("", "-wal", "-shm")]
    assert words(printed)[-1][-1] == f"{sum(file.stat().st_size for file in files):,}"


@pytest.fixture
def guarded(settings, open_app):
    """Settings with a new pepper on a ledger with outputs of an old one, and the item of those."""
    client = open_app(replace(settings, pepper=OLD)).test_client()
    item = mint(client, "+5.a", f"+3.{make_strong_secret()}", "+1.b")
    client.application.extensions["deeds"].close()
    now = replace(settings, pepper=NEW, peppers_old=(OLD,), ordinary_cost=Argon2Cost(16, 1, 1))
    return now, item


def rows(printed):
    """Return the rows of the table that begin with the number of a scheme, without the number."""
    return [
        " ".join(line.split()[1:]) for line in printed.splitlines() if re.match(r" *\d+ ", line)
    ]


def test_schemes_tells_what_each_guards_and_that_an_old_pepper_must_stay(guarded, open_app):
    settings, item = guarded
    client = open_app(settings).test_client()
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"])
    old, new = pepper_fingerprint(OLD), pepper_fingerprint(NEW)

    ran = invoke(settings, "schemes")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert sorted(rows(ran.stdout)) == sorted(
        [
            f"ordinary m=8,t=1,p=1 {old} 1 1",
            f"strong m=8,t=1,p=1 {old} 1 0",
            f"ordinary m=16,t=1,p=1 {new} 1 0 current",
            f"strong m=8,t=1,p=1 {new} 0 0 current",
        ]
    )
    assert f"Pepper {old} must stay: it guards 2 live outputs." in ran.stdout
    assert f"Pepper {new} is the current one." in ran.stdout


def test_a_pepper_that_guards_nothing_live_may_go_and_then_can(settings, open_app):
    peppered = replace(settings, pepper=OLD)
    client = open_app(peppered).test_client()
    item = mint(client, "+5.a")
    client.application.extensions["deeds"].close()
    client = open_app(replace(settings, peppers_old=(OLD,))).test_client()
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.b"])

    printed = invoke(settings, "schemes").stdout

    fingerprint = pepper_fingerprint(OLD)
    assert f"Pepper {fingerprint} can be removed: it guards no live output." in printed
    assert f"ordinary m=8,t=1,p=1 {fingerprint} 0 1" in rows(printed)
    assert "ordinary m=8,t=1,p=1 none 1 0 current" in rows(printed)
    assert (
        swap(open_app(settings).test_client(), [f"+5.{item}.b"], [f"+5.{item}.c"]).status_code
        == 200
    )


def test_a_ledger_without_peppers_is_told_nothing_of_them(client, settings):
    mint(client, "+5.a")

    printed = invoke(settings, "schemes").stdout

    assert "Pepper" not in printed
    assert len(rows(printed)) == 2
