"""`deeds accept-rollback` explains a loss, asks, and lowers the checkpoint file."""

import pytest

from tests.rollback.ledgers import lacks, lose, write_operation
from tests.support.api import environ_of
from tests.support.commanding import error_of, invoke


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

    def run_on(*arguments, typed="", path=path):
        checkpoint = {"DEEDS_CHECKPOINT_FILE": str(file.path)}
        environ = environ_of(f"sqlite:///{path}") | checkpoint
        return invoke(environ, "accept-rollback", *arguments, stdin=typed)

    return run_on


def test_an_operator_who_accepts_learns_what_it_means_and_can_serve(
    rolled_back, run, start, file
):
    ran = run(typed="accept\n")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert lacks(2).match(ran.stdout)
    assert "\nThe ledger ends at operation 1.\n" in ran.stdout
    assert "may\nlose or gain units" in ran.stdout
    assert ran.stdout.endswith("accepted: the ledger continues after operation 1\n")
    watched = start()
    write_operation(watched)
    watched.close()
    assert file.read().id == 2


@pytest.mark.parametrize("typed", ["\n", "yes\n"])
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


def test_without_a_file_there_is_nothing_to_lower(emptied_postgres_url):
    error = error_of(environ_of(emptied_postgres_url), "accept-rollback", "--yes")

    assert error == (
        "Error: there is no checkpoint file: DEEDS_CHECKPOINT_FILE is not set\n"
    )


def test_a_ledger_that_is_gone_for_good_can_be_accepted_and_begun_again(
    rolled_back, run, tmp_path, open_app, file
):
    path = tmp_path / "nowhere"

    ran = run("--yes", path=path)

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert f"there is no ledger at {path} (is its disk mounted?)" in ran.stdout
    assert ran.stdout.endswith("accepted: the ledger continues after operation 0\n")
    assert not path.exists()
    checkpoint = {"DEEDS_CHECKPOINT_FILE": str(file.path)}
    open_app(environ_of(f"sqlite:///{path}") | checkpoint)


def test_where_there_was_no_ledger_nothing_is_accepted_or_created(run, tmp_path):
    ran = run("--yes", path=tmp_path / "nowhere")

    assert (ran.exit_code, "have version none" in ran.output) == (1, True)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_cannot_be_written_is_one_line(rolled_back, run, file):
    file.path.with_name("checkpoint-new").mkdir()

    ran = run("--yes")

    assert ran.exit_code == 1
    assert ran.stderr == f"Error: {file.path}-new: Is a directory\n"
