"""One machine: the units, their file of settings, and the document that installs them.

systemd (`EnvironmentFile`) and the commands (`--env-file`, by python-dotenv) must read
the file alike.
"""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from dotenv import dotenv_values

from app import make_command
from tests.support.api import read_settings
from tests.support.commanding import printed_by
from tests.support.readme import FENCE, run_bash
from tests.support.sources import documents, found_in, read_text, read_variables

UNITS = ["deploy/deeds.service", "deploy/deeds-backup.service"]
FILE = "/etc/deeds/deeds.env"

# An assignment as the file describes it. systemd and dotenv interpret quotes,
# backslashes, a "#" after a space, and "${" differently.
ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]*)=((?:(?!\$\{)[!-~])*)")


def unit_value(unit, name):
    [value] = found_in(unit, rf"^{name}=(.*)$")
    return value


@pytest.fixture
def assignments():
    """The settings of deploy/deeds.env, parsed by the rule that the file states."""
    lines = read_text("deploy/deeds.env").splitlines()
    matches = [ASSIGNMENT.fullmatch(line) for line in lines if line and line[0] != "#"]
    assert all(matches)
    assert not re.search(r"""["'\\ ]""", "".join(match[2] for match in matches))
    return {match[1]: match[2] for match in matches}


def test_the_commands_read_every_line_unchanged(assignments):
    assert dotenv_values("deploy/deeds.env") == assignments


def test_the_file_sets_only_what_the_service_reads_and_accepts(assignments):
    settings = read_settings(assignments)

    assert set(assignments) <= read_variables()
    ledger = Path(assignments["DATABASE_URL"].removeprefix("sqlite:///"))
    assert ledger.parent != Path(settings.checkpoint_file).parent


def test_the_units_may_write_where_the_file_keeps_the_ledger_and_its_checkpoint(
    assignments,
):
    files = [
        assignments["DATABASE_URL"].removeprefix("sqlite:///"),
        assignments["DEEDS_CHECKPOINT_FILE"],
    ]
    directories = {str(Path(file).parent) for file in files}

    for unit in UNITS:
        states = unit_value(unit, "StateDirectory").split()
        assert directories <= {f"/var/lib/{state}" for state in states}
        assert unit_value(unit, "EnvironmentFile") == FILE
        assert (unit_value(unit, "User"), unit_value(unit, "Group")) == ("deeds",) * 2
        # Environment= would be another place for settings.
        assert not found_in(unit, "^Environment=|^DynamicUser=")


def test_the_document_installs_what_the_units_use():
    document = read_text("docs/deployment.md")
    directory = unit_value(UNITS[0], "WorkingDirectory")

    assert unit_value(UNITS[1], "WorkingDirectory") == directory
    assert unit_value(UNITS[0], "ExecStart").startswith(f"{directory}/.venv/bin/")
    assert f" {directory}    # this repository\n" in document
    # No other user of the machine may read the ledger or the pepper.
    assert "-o deeds -g deeds -m 700 /var/lib/deeds /var/lib/deeds-check" in document
    assert "install -d -g deeds -m 750 /etc/deeds\n" in document
    assert "install -g deeds -m 640 deploy/deeds.env /etc/deeds/\n" in document
    pages = document + read_text("docs/backups.md") + read_text("docs/commands.md")
    assert set(re.findall(r"(?:app|deeds) --env-file (\S+)", pages)) == {FILE}


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A function that runs a command with a file of this text and these variables."""

    def run(text, command, **environ):
        (tmp_path / "deeds.env").write_bytes(text)
        monkeypatch.setattr(os, "environ", environ)
        words = ["--env-file", str(tmp_path / "deeds.env"), command]
        return CliRunner().invoke(make_command(), words)

    return run


def test_commands_read_the_file_and_the_environment_goes_before_it(
    run, sqlite_url, tmp_path
):
    text = f"DATABASE_URL={sqlite_url}\n".encode()

    # An empty variable counts as unset.
    audited = run(text, "audit", DATABASE_URL="")
    other = run(text, "audit", DATABASE_URL=f"sqlite:///{tmp_path}/nothing")

    assert (audited.exit_code, audited.stderr) == (0, "")
    assert other.exit_code == 1
    assert "there is no ledger" in other.output


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"A=1\n\n# x\n\nDEEDS_PEPPER 'forgotten'\n", ", line 5: must look like NAME="),
        (b"A=1\nDEEDS_MINT_TOKEN\n", ", line 2: must look like NAME=value"),
        (b"DEEDS_PEPPER=\xff\n", " is not UTF-8 text"),
    ],
)
def test_a_line_that_is_not_a_setting_stops_a_command(run, tmp_path, text, reason):
    ran = run(text, "stats")

    assert (ran.exit_code, ran.stdout) == (2, "")
    assert f"Error: {tmp_path / 'deeds.env'}{reason}" in ran.stderr


def test_the_script_for_backups_reads_the_file_of_its_third_argument(
    sqlite_url, tmp_path
):
    file = tmp_path / "deeds.env"
    file.write_text(f"DATABASE_URL={sqlite_url}\n")
    script = f"set -- {tmp_path}/backups 14 {file}\n" + read_text("deploy/backup.sh")
    (tmp_path / "backups").mkdir()

    run_bash(script)

    [backup] = (tmp_path / "backups").iterdir()
    assert backup.name.startswith("deeds-")


@pytest.mark.parametrize("document", documents())
def test_the_blocks_of_a_document_are_valid_shell(document):
    for language, text in FENCE.findall(read_text(document)):
        if language in ("sh", "bash"):
            printed_by("bash", "-n", "-c", text)
