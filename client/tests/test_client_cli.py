"""The wallet for the terminal, against a running service."""

import csv
import json
import os
import pty
import select
import signal
import subprocess
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner

from deeds_client import terminal
from deeds_client.cli import main
from deeds_client.errors import NoAnswerError
from deeds_client.records import Store
from deeds_client.service import Deeds
from tests.support.serving import REPOSITORY, running_service
from tests.support.waiting import WAIT_SECONDS_MAX, wait_until


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service that takes eight outputs at once."""
    with running_service(tmp_path_factory.mktemp("service"), DEEDS_MAX_ARRAY="8") as service:
        yield service.url


@pytest.fixture
def run(url, tmp_path):
    """A function that runs a command in a wallet and returns its result."""

    def run(*arguments, wallet="anna", stdin="", **more):
        options = ["--wallet", tmp_path / f"{wallet}.sqlite3", "--url", url]
        words = list(map(str, [*options, *arguments]))
        return CliRunner().invoke(main, words, input=stdin, prog_name="deeds-wallet", **more)

    return run


@pytest.fixture
def ask(run):
    """A function that runs a command and returns its JSON."""

    def ask(*arguments, **options):
        result = run("--json", *arguments, **options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return ask


@pytest.fixture
def start(url, tmp_path):
    """A function that starts a command as a process of its own."""
    wallet = ["--wallet", tmp_path / "anna.sqlite3", "--url", url]
    command = [sys.executable, "-m", "deeds_client", *wallet]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "client")}
    return lambda *words, **more: subprocess.Popen([*command, *words], env=environment, **more)


def free(ask, wallet="anna"):
    return {each["deed"]: each.get("free", 0) for each in ask("balance", wallet=wallet)}


def test_links_go_from_one_wallet_to_another_once(run, ask):
    ask("mint", "Night Choir", 5)
    sent, more = run("send", 3, "night").stdout, ask("send", 1, "night")["link"]
    shown = run("balance").stdout
    claimed = run("claim", wallet="bob", stdin=f"Here it is:\n\n{sent}").stdout
    partly = run("--json", "claim", wallet="eve", stdin=f"{sent} {more}")

    assert ["amount", "3"] in [line.split() for line in sent.splitlines()]
    assert (claimed.split()[-1], shown.split()[-2:]) == ("Claimed.", ["1", "4"])
    used, fresh = (each["said"].split(".")[0] for each in json.loads(partly.stdout))
    assert (partly.exit_code, used, fresh) == (1, "Already claimed", "Claimed")
    assert (free(ask), free(ask, "bob")) == ({"Night Choir": 1}, {"Night Choir": 3})
    assert [each["state"] for each in ask("check")] == ["claimed", "claimed"]


@pytest.mark.parametrize("command", [["claim"], ["send", 1], ["balance"], ["take-back"]])
def test_a_link_is_never_taken_from_arguments(run, ask, command):
    ask("mint", "Cider", 5)
    link = ask("send", 1, "Cider")["link"]
    refused = run(*command, link)

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "deeds-wallet claim" in refused.stderr
    assert link[-32:] not in refused.stderr


def test_a_deed_is_named_in_many_ways(run, ask, url):
    item_id = ask("mint", "Night Choir", 5)["itemId"]
    ask("mint", "Night Bus", 5)
    mark = terminal.mark_of(item_id)
    for name in ("night choir", "NIGHT C", item_id, item_id[:12], mark, f"{url}/item/{item_id}"):
        assert ask("balance", name)[0]["itemId"] == item_id
    unclear = run("balance", "night")

    assert (unclear.exit_code, "“Night Bus”" in unclear.stderr) == (2, True)
    assert f"“Night Choir” {mark}" in unclear.stderr


def test_a_deed_that_only_has_the_name_of_another_is_not_taken_unasked(run, ask):
    ask("mint", "Night Choir", 5)
    ask("mint", "Night\u200b \uff23HOIR", 5, wallet="eve")
    link = ask("send", 1, "night", wallet="eve")["link"]
    refused = run("claim", stdin=link)
    assert (refused.exit_code, len(ask("balance"))) == (1, 1)
    assert run("claim", "--yes", stdin=link).exit_code == 0
    assert run("send", 1, "Night Choir").exit_code == 2


def test_what_strangers_wrote_is_shown_and_never_obeyed(run, ask):
    hostile = "\x1b]0;owned\x07\x1b[31mRed[/red] [bold]b\u202e\nline” 7kq2·m9xd"
    ask("mint", hostile, 1)
    shown = run("balance").stdout + run("history").stdout
    assert not {"\x1b", "\x07", "\u202e", "”"} & set(shown)
    assert " ".join(shown.split()).count("[31mRed[/red] [bold]b line 7kq2·m9xd") == 2


def test_parts_are_split_and_merged_into_one(run, ask):
    ask("mint", "Cider", 30)
    ask("split", "Cider", 1, 2)
    assert ask("merge", "cider")["amount"] == 30
    assert [part["amount"] for part in ask("balance", "cider")] == [30]


def test_an_offer_is_made_and_completed_or_withdrawn(run, ask):
    ask("mint", "Cider", 5)
    ask("mint", "Bread", 5, wallet="bob")
    ask("claim", stdin=ask("send", 2, "Bread", wallet="bob")["link"])
    asked = ask("ask", 2, "Bread")
    unsure = run("complete", asked["link"], wallet="bob")
    ask("complete", asked["link"], "--yes", wallet="bob")
    traded, withdrawn = (ask("trade", 2, "Cider", 1, "Bread") for _ in range(2))
    taken, ended, paid = ask("take-back", withdrawn["offerId"])
    assert ended["code"] == "offer_withdrawn"
    ask("complete", traded["offerId"], "--yes", wallet="bob")
    late = run("complete", withdrawn["link"], "--yes", wallet="bob")

    assert (unsure.exit_code, late.exit_code) == (1, 1)
    assert "You give 2 “Bread”" in unsure.stderr
    assert (taken["kind"], paid["state"]) == ("withdraw", "held")
    assert sorted(each["state"] for each in ask("check")) == ["held", "spent"]
    assert (free(ask), free(ask, "bob")) == ({"Cider": 3, "Bread": 5}, {"Bread": 0, "Cider": 2})


def test_a_series_of_links_survives_being_killed_and_is_minted_once(run, ask, start, tmp_path):
    file, wallet = tmp_path / "tickets.csv", tmp_path / "anna.sqlite3"
    command = ["mint", "Night Choir", "--count", "40", "--csv", file]

    def operations():
        with closing(Store(wallet)) as store, store.transaction() as records:
            return records.all("operations")

    with start(*command, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: len(operations()) > 2)
        process.kill()
    made, again = ask(*command), run(*command)
    rows = list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))

    assert [row["number"] for row in rows] == [str(number) for number in range(1, 41)]
    assert (made["made"], again.exit_code, file.stat().st_mode & 0o777) == (40, 2, 0o600)
    assert [each["kind"] for each in ask("history")].count("mint") == 1
    assert ask("claim", wallet="bob", stdin=rows[0]["link"])[0]["said"] == "Claimed."
    assert ask("take-back", "night", 5, 7, "--yes")[0]["amount"] == 2
    assert free(ask) == {"Night Choir": 2}


def test_a_wallet_is_exported_and_imported(run, ask, tmp_path):
    ask("mint", "Cider", 5)
    file, passphrase = tmp_path / "backup.json", "a passphrase of some words\n"
    ask("export", file, stdin=passphrase)
    wrong = run("import", file, wallet="bob", stdin="another one of some words\n")
    ask("import", file, wallet="bob", stdin=passphrase)
    again = run("export", file, stdin=passphrase)

    assert (file.stat().st_mode & 0o777, wrong.exit_code, again.exit_code) == (0o600, 2, 2)
    assert free(ask, "bob") == {"Cider": 5}


def test_what_got_no_answer_is_finished_by_the_next_command(run, ask, monkeypatch):
    ask("mint", "Cider", 5)
    send = Deeds.send

    def lose(*arguments):
        send(*arguments)
        raise NoAnswerError(key="a key")

    with monkeypatch.context() as patched:
        patched.setattr(Deeds, "send", lose)
        unanswered = run("send", 3, "Cider")
    finished = run("balance", "Cider")

    assert (unanswered.exit_code, "written down" in unanswered.stderr) == (3, True)
    assert "send 3, done" in finished.stderr
    assert "/claim/deed_" in finished.stdout


def test_what_is_wrong_is_told_in_a_sentence(run, ask, tmp_path):
    ask("mint", "Cider", 5)
    (tmp_path / "damaged.sqlite3").write_bytes(b"not a database" * 100)
    results = {
        run("balance", wallet="damaged"): 2,
        run("--url", "ftp://deeds.example.com", "balance", wallet="new"): 2,
        run("--url", "http://127.0.0.1:9", "balance"): 2,
        run("send", 0, "Cider"): 2,
        run("balance", "🎸"): 2,
        run("mint", "Cider"): 2,
        run("claim", stdin=b"\xff"): 2,
        run("complete", f"offer_{'0' * 26}"): 1,
        run("take-back", "Cider"): 1,
        run("import", tmp_path / "missing"): 2,
    }
    for result, code in results.items():
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        assert len(result.stderr.split("\n")) <= 3
    assert not (tmp_path / "new.sqlite3").exists()


def test_names_are_completed_from_the_file(ask, tmp_path):
    ask("mint", "Night Choir; $(reboot)", 5)
    words = f"deeds-wallet --wallet {tmp_path / 'anna.sqlite3'} send 1 ni"
    asked = {"_DEEDS_WALLET_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "5"}
    completed = CliRunner().invoke(main, [], prog_name="deeds-wallet", env=asked)

    assert ask("balance", "Night-Choir-reboot")
    assert completed.stdout == "plain,Night-Choir-reboot\n"


def test_a_terminal_gets_codes_and_ctrl_c_is_told_in_a_sentence(ask, start):
    ask("mint", "Cider", 5)
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}

    def read_until(end, shown=b""):
        while end not in shown:
            assert select.select([ours], [], [], WAIT_SECONDS_MAX)[0], shown
            shown += os.read(ours, 65_536)

    # Who started us may have had us ignore it, and children would too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with start("send", "1", "Cider", **streams):
        read_until("█\x1b[0m\r\n".encode())
    with start("claim", **streams) as waiting:
        try:
            read_until(b"Ctrl-D")
            waiting.send_signal(signal.SIGINT)
            read_until(b"Stopped.")
            waiting.wait(WAIT_SECONDS_MAX)
        finally:
            waiting.kill()
    signal.signal(signal.SIGINT, before)
    os.close(ours)
    os.close(theirs)
    assert waiting.returncode == 130
