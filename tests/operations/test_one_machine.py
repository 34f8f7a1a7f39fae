"""One machine: the units, their one file of settings, and what installs them.

Both readers of the file must take it alike: systemd (`EnvironmentFile`) and the
commands (`--env-file`, which is python-dotenv).
"""

import re
from pathlib import Path

import pytest
from dotenv import dotenv_values

from tests.support.api import read_settings
from tests.support.commanding import printed_by, run_python
from tests.support.readme import FENCE, run_bash
from tests.support.sources import documents, found_in, read_text, read_variables

UNITS = ["deploy/deeds.service", "deploy/deeds-backup.service"]
FILE = "/etc/deeds/deeds.env"

# A value as the file asks for. systemd and dotenv take quotes, backslashes, a "#" after
# a space, and "${" differently.
ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]*)=((?:(?!\$\{)[!-~])*)")

# Of each kind that a setting has.
VALUES = [
    "sqlite:////var/lib/deeds/deeds.sqlite3",
    "postgresql://deeds:a%40b%23@db1:5432,db2/deeds?x=read-write&sslmode=verify-full",
    "mint=30/minute;offer=60/minute",
    "m=7168,t=5,p=1",
    "aZ09+/#$x~*!=",
]


def unit_value(unit, name):
    [value] = found_in(unit, rf"^{name}=(.*)$")
    return value


@pytest.fixture
def assignments():
    """The settings of deploy/deeds.env, by the rule that the file states."""
    lines = read_text("deploy/deeds.env").splitlines()
    matches = [ASSIGNMENT.fullmatch(line) for line in lines if line and line[0] != "#"]
    assert all(matches)
    assert not re.search(r"""["'\\ ]""", "".join(match[2] for match in matches))
    return {match[1]: match[2] for match in matches}


def test_the_commands_take_every_line_as_it_stands(assignments):
    assert dotenv_values("deploy/deeds.env") == assignments


@pytest.mark.parametrize("value", VALUES)
def test_the_commands_take_what_the_file_calls_safe_as_it_stands(tmp_path, value):
    file = tmp_path / "deeds.env"
    file.write_text(f"# DEEDS_LOG=console\nDATABASE_URL={value}\n")

    assert ASSIGNMENT.fullmatch(f"DATABASE_URL={value}")
    assert dotenv_values(file) == {"DATABASE_URL": value}


def test_the_file_sets_what_the_service_reads_and_accepts(assignments):
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
        # It comes before the file, and would be another place for settings.
        assert not found_in(unit, "^Environment=|^DynamicUser=")


def test_the_document_installs_what_the_units_use():
    document = read_text("docs/deployment.md")
    directory = unit_value(UNITS[0], "WorkingDirectory")

    assert unit_value(UNITS[1], "WorkingDirectory") == directory
    assert unit_value(UNITS[0], "ExecStart").startswith(f"{directory}/.venv/bin/")
    assert f" {directory}    # this repository\n" in document
    assert "useradd --system --user-group" in document
    assert (
        "-o deeds -g deeds -m 700 /var/lib/deeds /var/lib/deeds-checkpoint" in document
    )
    # No other user of the machine reads the pepper.
    assert "install -d -g deeds -m 750 /etc/deeds\n" in document
    assert "install -g deeds -m 640 deploy/deeds.env /etc/deeds/\n" in document
    # Who installs is told the token.
    assert "for name in DEEDS_PEPPER DEEDS_MINT_TOKEN; do\n" in document
    assert f"sudo grep DEEDS_MINT_TOKEN= {FILE} " in document
    pages = document + read_text("docs/backups.md") + read_text("docs/commands.md")
    commands = re.findall(r"(?:app|deeds) --env-file (\S+)", pages)
    assert set(commands) == {FILE}


def test_commands_read_the_file_and_the_environment_goes_before_it(
    sqlite_url, tmp_path
):
    file = tmp_path / "deeds.env"
    file.write_text(f"DATABASE_URL={sqlite_url}\n")
    line = ["-m", "app", "--env-file", str(file), "audit"]

    # An empty variable counts as unset.
    audited = run_python(*line, DATABASE_URL="")
    other = run_python(*line, DATABASE_URL=f"sqlite:///{tmp_path}/nothing")

    assert (audited.returncode, audited.stderr) == (0, "")
    assert "Every invariant holds." in audited.stdout
    assert other.returncode == 1
    assert "there is no ledger" in other.stderr


def test_the_script_for_backups_takes_the_file_from_its_third_argument(
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


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"A=1\n\n# x\n\nDEEDS_PEPPER 'forgotten'\n", ", line 6: must look like NAME="),
        (b"A=1\nDEEDS_MINT_TOKEN\n", ", line 3: must look like NAME=value"),
        (b"DEEDS_PEPPER=\xff\n", " is not UTF-8 text"),
    ],
)
def test_a_line_that_is_no_setting_stops_a_command(sqlite_url, tmp_path, content, says):
    file = tmp_path / "deeds.env"
    file.write_bytes(f"DATABASE_URL={sqlite_url}\n".encode() + content)

    ran = run_python("-m", "app", "--env-file", file, "stats")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"Error: {file}{says}" in ran.stderr
    assert "Traceback" not in ran.stderr
