"""The README and docs/clients.md, as pasted: their bash blocks run against a real service."""

import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deeds.domain.strong_secret import is_strong_secret
from tests.support.needs import require
from tests.support.readme import WALK, blocks_of, make_comparable
from tests.support.serving import REPOSITORY, Service, running_service

BLOCKS = blocks_of(WALK, "bash")

# Printed between the answers of two blocks; no answer holds it.
MARK = "\0"


def run_bash(script: str) -> str:
    """Run a script, which must say nothing on stderr, and return what it printed."""
    require("bash and curl")
    ran = subprocess.run(
        ["bash", "-eu", "-o", "pipefail"],
        input=script,
        cwd=REPOSITORY,
        # Flask would give advice on stderr where a developer keeps a file .env.
        env=os.environ | {"FLASK_SKIP_DOTENV": "1", "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("walk")) as service:
        yield service


@pytest.fixture(scope="module")
def printed(service: Service) -> list[str]:
    """What each bash block of the README prints."""
    script = "\n".join(block.text + r"printf '\0'" for block in BLOCKS)
    flask = f"{shlex.quote(sys.executable)} -m flask "
    for written, meant in (("http://127.0.0.1:8000", service.url), (".venv/bin/flask ", flask)):
        assert written in script
        script = script.replace(written, meant)
    return run_bash(script).split(MARK)[:-1]


def test_the_blocks_of_the_readme_answer_as_it_shows(printed: list[str]) -> None:
    comparable_shown, comparable_printed = make_comparable(), make_comparable()
    answers = [block.answer for block in BLOCKS]

    shown = [answer and comparable_shown(answer.language, answer.text) for answer in answers]
    real = [
        answer and comparable_printed(answer.language, text)
        for answer, text in zip(answers, printed, strict=True)
    ]

    assert None not in shown, "a bash block has no answer below it"
    assert real == shown


def test_the_walk_mints_splits_claims_and_refuses_the_old_secret(printed: list[str]) -> None:
    whole = "".join(printed)

    assert whole.count('{"success":true}') == 4
    assert whole.count('"code":"spent_input"') == 1
    assert whole.count('{"states":["spent","unspent","unknown"]}') == 1


def test_the_python_line_makes_strong_secrets() -> None:
    [block] = [block for block in BLOCKS if block.text.startswith("python3 -c")]

    made = [run_bash(block.text).strip() for _ in range(3)]

    assert len(set(made)) == 3
    assert all(is_strong_secret(secret) for secret in made)


def test_the_backup_holds_the_ledger_and_is_its_owners_alone(
    printed: list[str], service: Service
) -> None:
    assert printed  # The walk was made, and the service still runs.
    ledger = service.log.parent / "deeds.db"
    [block] = [
        block for block in blocks_of(["docs/backups.md"], "sh") if "deeds backup" in block.text
    ]
    [line] = [line for line in block.text.splitlines() if "deeds backup" in line]
    backup = service.log.parent / "backup.sqlite3"
    for written, meant in (
        ("/elsewhere/deeds-monday.sqlite3", shlex.quote(str(backup))),
        (".venv/bin/flask ", f"{shlex.quote(sys.executable)} -m flask "),
    ):
        assert written in line
        line = line.replace(written, meant)

    run_bash(f"export DATABASE_URL=sqlite:///{ledger}\n{line}")

    assert backup.stat().st_mode & 0o777 == 0o600
    assert read_outputs(backup) == read_outputs(ledger)
    assert sum(amount for *_, amount, spent_by in read_outputs(backup) if not spent_by) == 100


def read_outputs(database: Path) -> list[tuple[str, bytes, int, int | None]]:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT item_id, digest, amount, spent_by FROM outputs ORDER BY item_id, digest"
        return connection.execute(query).fetchall()
