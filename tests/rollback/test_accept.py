"""`deeds accept-rollback` explains a loss, asks, and lowers the checkpoint file."""

import pytest
from click.testing import CliRunner

from app import create_app
from deeds.errors import StartError
from deeds.part import CommandContext, Ledger
from deeds.settings import Settings
from parts.rollback.commands import accept_rollback
from parts.rollback.watch import WatchedDatabase
from storage.schema import CORE, migrate
from tests.rollback.ledgers import lacks, lose, open_database, write_operation


@pytest.fixture
def rolled_back(path, start):
    """A ledger that ends at the first of two operations."""
    watched = start()
    write_operation(watched)
    lost = write_operation(watched)
    watched.close()
    lose(path, lost)


@pytest.fixture
def run(path, file):
    """A function that runs the command; the operator types what is `typed`."""
    settings = Settings(checkpoint_file=str(file.path))

    def run_on(*arguments, typed="", path=path, settings=settings):
        ledger = Ledger(settings, open_database(path), [CORE], [])
        return CliRunner().invoke(
            accept_rollback,
            arguments,
            input=typed,
            obj=CommandContext(lambda: ledger, create_app),
        )

    return run_on


@pytest.mark.parametrize(
    ("arguments", "typed"), [([], "accept\n"), (["--yes"], "")], ids=["asked", "--yes"]
)
def test_an_operator_who_accepts_learns_what_it_means_and_can_serve(
    rolled_back, run, start, file, arguments, typed
):
    ran = run(*arguments, typed=typed)

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert lacks(2).match(ran.stdout)
    assert "\nThe ledger ends at operation 1.\n" in ran.stdout
    assert "may\nlose or gain units" in ran.stdout
    assert ran.stdout.endswith("accepted: the ledger continues after operation 1\n")
    watched = start()
    write_operation(watched)
    watched.close()
    assert file.read().id == 2


@pytest.mark.parametrize(
    "typed",
    ["", "\n", "yes\n", "ACCEPT\n"],
    ids=["nothing", "a line", "yes", "upper case"],
)
def test_nothing_is_accepted_without_the_word(rolled_back, run, file, typed):
    before = file.path.read_bytes()

    ran = run(typed=typed)

    assert ran.exit_code == 1
    assert file.path.read_bytes() == before


def test_on_the_newest_ledger_there_is_nothing_to_accept(run, start, file):
    watched = start()
    write_operation(watched)
    watched.close()
    before = file.path.read_bytes()

    ran = run("--yes")

    nothing = "the ledger is not behind its checkpoint: there is nothing to accept\n"
    assert (ran.exit_code, ran.stdout) == (0, nothing)
    assert file.path.read_bytes() == before


def test_without_a_file_there_is_nothing_to_lower(run):
    ran = run("--yes", settings=Settings(database_url="postgresql://host/deeds"))

    assert ran.exit_code == 1
    assert ran.stderr == (
        "Error: there is no checkpoint file: DEEDS_CHECKPOINT_FILE is not set\n"
    )


def test_a_ledger_that_is_gone_for_good_can_be_accepted_and_begun_again(
    rolled_back, run, start, tmp_path, file
):
    path = tmp_path / "nowhere"

    ran = run("--yes", path=path)

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert f"there is no ledger at {path} (is its disk mounted?)" in ran.stdout
    assert ran.stdout.endswith("accepted: the ledger continues after operation 0\n")
    assert not path.exists()
    watched = WatchedDatabase(open_database(path), file)
    migrate(watched, [CORE])
    start(watched).close()


def test_where_there_was_no_ledger_nothing_is_accepted_or_created(run, tmp_path):
    ran = run("--yes", path=tmp_path / "nowhere")

    assert isinstance(ran.exception, StartError)
    assert "have version none" in ran.exception.reason
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_cannot_be_written_is_one_line(rolled_back, run, file):
    file.path.with_name("checkpoint-new").mkdir()

    ran = run("--yes")

    assert ran.exit_code == 1
    assert ran.stderr == f"Error: {file.path}-new: Is a directory\n"
