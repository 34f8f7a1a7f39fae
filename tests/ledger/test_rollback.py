"""An older copy of the ledger, in which spent secrets are live again, is not served by accident."""

import os
import shutil
import signal
from itertools import pairwise

import pytest

from deeds.domain.errors import StartError
from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from storage.mark_file import Mark, MarkFile
from tests.support.commanding import invoke
from tests.support.hooks import hooked
from tests.support.racing import client_of_port
from tests.support.requests import check, mint, swap
from tests.support.serving import running_service

# Where the database makes no difference.
ON_SQLITE = pytest.mark.parametrize("ledger_url", ["sqlite"], indirect=True)

ADVICE = "; restore the right database, or run: flask --app app deeds accept-rollback"


@pytest.fixture
def mark(tmp_path):
    path = tmp_path / "somewhere else" / "mark"
    path.parent.mkdir()
    return MarkFile(path)


@pytest.fixture
def serve(open_app, mark):
    """A function that opens the service on a database and returns a client of it."""

    def open_one(url):
        settings = Settings(url, Argon2Cost(8, 1, 1), mark_file=str(mark.path))
        return open_app(settings).test_client()

    return open_one


def stop(client):
    client.application.extensions["deeds"].close()


def refused(serve, url):
    with pytest.raises(StartError) as stopped:
        serve(url)
    line = str(stopped.value)
    assert line.endswith(ADVICE), line
    return line.removeprefix("deeds cannot start: ").removesuffix(ADVICE)


def hand_on(client, item, secrets):
    for before, after in pairwise(secrets):
        assert swap(client, [f"+5.{item}.{before}"], [f"+5.{item}.{after}"]).status_code == 200
    stop(client)


@pytest.fixture
def rolled_back(serve, ledger_url, copy_ledger):
    """The URL of a copy made before the last two of three operations, its item, and the URL of the
    newest ledger."""
    client = serve(ledger_url)
    item = mint(client, "+5.a")
    stop(client)
    older = copy_ledger(ledger_url)
    hand_on(serve(ledger_url), item, "abc")
    return older, item, ledger_url


@pytest.fixture
def gone_on(rolled_back, serve, mark):
    """The same after the older copy was used elsewhere, past the operation of the mark."""
    older, item, _ = rolled_back
    kept = mark.path.read_bytes()
    mark.path.unlink()
    hand_on(serve(older), item, "avwxyz")
    mark.path.write_bytes(kept)
    return rolled_back


def run(url, mark, *command, said=""):
    return invoke(Settings(url, mark_file=str(mark.path)), *command, said=said)


def test_an_older_copy_is_not_served_and_the_newest_ledger_is_served_again(rolled_back, serve):
    older, item, newest = rolled_back

    assert refused(serve, older) == (
        "the ledger ends at operation 1, but operation 3 was committed: this is an older copy, up "
        "to 2 operations are lost and secrets spent in them are live again"
    )
    assert check(serve(newest), f"+5.{item}.a", f"+5.{item}.c") == ["spent", "unspent"]


def test_an_empty_ledger_in_place_of_a_used_one_is_not_served(
    rolled_back, serve, request, sqlite_template, tmp_path
):
    if rolled_back[2].startswith("sqlite"):
        empty = f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'fresh.sqlite3')}"
    else:
        empty = request.getfixturevalue("fresh_postgres_url")()

    assert refused(serve, empty) == (
        "the ledger is empty, but operation 3 was committed: this is a new ledger, and the one in "
        "use before is elsewhere"
    )


def test_an_older_copy_that_went_on_elsewhere_is_not_served(gone_on, serve):
    assert refused(serve, gone_on[0]).startswith(
        "operation 3 of the ledger is not the one that was committed: this is another ledger, or "
    )


@ON_SQLITE
def test_a_restore_does_not_raise_the_mark_over_what_is_lost(gone_on, serve, mark, copy_ledger):
    older, kept = gone_on[0], mark.path.read_bytes()
    copy = copy_ledger(older)

    ran = run(older, mark, "restore", copy.removeprefix("sqlite:///"))

    assert (ran.exit_code, mark.path.read_bytes()) == (0, kept)
    refused(serve, older)


@ON_SQLITE
def test_a_damaged_mark_stops_the_start_until_it_is_accepted(rolled_back, serve, mark):
    mark.path.write_bytes(b"deeds-mark-1 1 1 no")

    assert refused(serve, rolled_back[2]) == (
        "the mark file is damaged, so the ledger cannot be told from an older copy"
    )
    assert run(rolled_back[2], mark, "accept-rollback", "--yes").exit_code == 0
    serve(rolled_back[2])


@ON_SQLITE
def test_a_ledger_without_a_mark_gets_one_and_that_is_told_once(rolled_back, serve, mark, caplog):
    mark.path.unlink()

    for _ in range(2):
        stop(serve(rolled_back[2]))

    assert [each.getMessage()[:22] for each in caplog.records] == ["there was no mark file"]
    assert mark.read().operation_id == 3


def test_a_mark_that_fell_behind_is_raised_by_the_start(rolled_back, serve, mark):
    """After a `kill -9`, or a power failure that took the file's last seconds."""
    older, _, newest = rolled_back
    kept = mark.read()
    mark.path.unlink()
    stop(serve(older))
    assert mark.read() < kept

    stop(serve(newest))

    assert mark.read() == kept


def test_a_mark_that_is_raised_while_it_is_compared_is_not_raised_over(rolled_back, serve, mark):
    lost = Mark(99, 1)

    def raise_it(_connection, _cursor, statement, *_):
        if "ORDER BY operations.id DESC" in statement:
            mark.raise_to(lost)

    with hooked("before_cursor_execute", raise_it):
        assert "but operation 99 was committed" in refused(serve, rolled_back[2])

    assert mark.read() == lost


@ON_SQLITE
def test_a_mark_that_cannot_be_kept_stops_the_start(open_app, ledger_url, tmp_path):
    path = tmp_path / "missing" / "mark"

    with pytest.raises(StartError) as stopped:
        open_app(Settings(ledger_url, mark_file=str(path)))

    assert str(stopped.value) == (
        f"deeds cannot start: cannot use the mark file {path}: No such file or directory"
    )


@ON_SQLITE
def test_a_refused_request_raises_no_mark(rolled_back, serve, mark):
    _, item, newest = rolled_back
    client = serve(newest)
    swap(client, [f"+5.{item}.a"], [f"+5.{item}.d"])
    stop(client)

    assert mark.read().operation_id == 3


def test_an_operator_who_accepts_is_told_what_it_means_and_can_serve(rolled_back, serve, mark):
    older, item, _ = rolled_back

    ran = run(older, mark, "accept-rollback", said="accept\n")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "up to 2 operations are lost and secrets spent in them are live again" in ran.stdout
    assert ran.stdout.endswith("accepted: the ledger continues after operation 1\n")
    hand_on(serve(older), item, "ad")
    assert mark.read().operation_id > 1


@ON_SQLITE
def test_nothing_is_accepted_without_the_word_or_on_the_newest_ledger(rolled_back, mark):
    older, _, newest = rolled_back
    before = mark.path.read_bytes()

    for said in "", "\n", "yes\n", "ACCEPT\n":
        assert run(older, mark, "accept-rollback", said=said).exit_code == 1
        assert mark.path.read_bytes() == before

    ran = run(newest, mark, "accept-rollback", "--yes")
    nothing = "the ledger is not behind its mark: there is nothing to accept\n"
    assert (ran.exit_code, ran.stdout) == (0, nothing)
    assert mark.path.read_bytes() == before


@ON_SQLITE
def test_a_requested_stop_leaves_the_mark_at_the_last_operation(ledger_url, mark, tmp_path):
    settings = {"DATABASE_URL": ledger_url, "DEEDS_MARK_FILE": str(mark.path)}
    with running_service(tmp_path, WEB_CONCURRENCY="2", **settings) as service:
        with client_of_port(service.port) as send:
            for number in range(20):
                send("/v1/mint", {"outputs": [f"+1.{number}"]})
        os.kill(service.process.pid, signal.SIGTERM)
        assert service.process.wait(timeout=30) == 0

    assert mark.read().operation_id == 20
