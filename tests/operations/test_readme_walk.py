"""The README and docs/clients.md, as pasted: their bash blocks run against a real service."""

import sqlite3
from contextlib import closing

import pytest

from deeds.domain.raw_output import is_strong_secret
from tests.support.readme import WALK, assert_answers_as_shown, blocks_of, run_bash, walk
from tests.support.serving import running_service


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running_service(tmp_path_factory.mktemp("walk")) as service:
        yield service


@pytest.fixture(scope="module")
def printed(service):
    """What each bash block of the README prints."""
    return walk(service.url)


def test_the_blocks_of_the_readme_answer_as_it_shows(printed):
    assert_answers_as_shown(printed)


def test_the_python_line_makes_strong_secrets():
    [block] = [text for text, _ in blocks_of(WALK, "bash") if text.startswith("python3 -c")]

    made = {run_bash(block).strip() for _ in range(3)}

    assert len(made) == 3
    assert all(is_strong_secret(secret) for secret in made)


def test_the_backup_holds_the_ledger_and_is_its_owners_alone(printed, service):
    assert printed  # The walk was made, and the service still runs.
    directory = service.log.parent
    ledger, backup = directory / "deeds.db", directory / "backup.sqlite3"
    [line] = [
        line
        for text, _ in blocks_of(["docs/backups.md"], "sh")
        for line in text.splitlines()
        if "deeds backup" in line
    ]
    assert "/elsewhere/deeds-monday.sqlite3" in line
    line = line.replace("/elsewhere/deeds-monday.sqlite3", str(backup))

    run_bash(line, DATABASE_URL=f"sqlite:///{ledger}")

    assert backup.stat().st_mode & 0o777 == 0o600
    assert read_outputs(backup) == read_outputs(ledger)
    assert sum(amount for *_, amount, spent_by in read_outputs(backup) if not spent_by) == 100


def read_outputs(database):
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT item_id, digest, amount, spent_by FROM outputs ORDER BY item_id, digest"
        return connection.execute(query).fetchall()
