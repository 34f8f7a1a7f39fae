"""The wallet for the terminal, against a running service."""

import csv
import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import termios
import tomllib
from contextlib import closing, suppress
from functools import partial

import httpx
import pytest
from click.testing import CliRunner

from deeds_client import terminal
from deeds_client.cli import main
from deeds_client.service import Deeds
from tests.support.serving import REPOSITORY, running_service
from tests.support.waiting import wait_until


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

    def start(*arguments, **options):
        wallet = ["--wallet", tmp_path / "anna.sqlite3", "--url", url]
        command = [sys.executable, "-m", "deeds_client", *wallet, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "client")}
        return subprocess.Popen(list(map(str, command)), env=environment, cwd=tmp_path, **options)

    return start


def free(ask, wallet="anna"):
    return {each["deed"]: each.get("free", 0) for each in ask("balance", wallet=wallet)}


def test_a_link_goes_from_one_wallet_to_another(run, ask):
    ask("mint", "Night Choir", 5)
    sent = run("send", 3, "night")
    claimed = run("claim", wallet="bob", stdin=f"Here it is:\n\n{sent.stdout}")
    shown = run("balance")

    assert ["amount", "3"] in [line.split() for line in sent.stdout.splitlines()]
    assert claimed.stdout.split()[-1] == "Claimed."
    assert [line.split()[-2:] for line in shown.stdout.splitlines()] == [
        ["free", "given"],
        ["2", "3"],
    ]
    assert (free(ask), free(ask, "bob")) == ({"Night Choir": 2}, {"Night Choir": 3})
    assert ask("check")[0]["state"] == "claimed"
    assert [each["kind"] for each in ask("history")] == ["send", "mint"]


def test_links_are_claimed_one_by_one_and_the_refused_ones_named(run, ask):
    ask("mint", "Cider", 5)
    links = [ask("send", amount, "Cider")["link"] for amount in (1, 2)]
    ask("claim", stdin=links[0])
    claimed = run("--json", "claim", wallet="bob", stdin="\n".join(links))

    assert claimed.exit_code == 1
    assert [each["said"] for each in json.loads(claimed.stdout)] == [
        "Already claimed. If it wasn't you, ask the sender.",
        "Claimed.",
    ]


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
    names = ["night choir", "NIGHT C", item_id, item_id[:12], mark, f"{url}/item/{item_id}"]
    for name in names:
        assert ask("balance", name)[0]["itemId"] == item_id
    unclear, unknown = run("balance", "night"), run("balance", "Opera")

    assert (unclear.exit_code, unknown.exit_code) == (2, 2)
    assert f"“Night Choir” {mark}" in unclear.stderr
    assert "“Night Bus”" in unclear.stderr


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
    for command in ("balance", "history", "check"):
        shown = run(command).output
        assert not {"\x1b", "\x07", "\u202e", "”\u0020"} & set(shown)
    assert "[31mRed[/red] [bold]b line 7kq2·m9xd" in " ".join(run("history").stdout.split())


def test_parts_are_split_and_merged_into_one(run, ask):
    ask("mint", "Cider", 30)
    ask("split", "Cider", 1, 2)
    merged = ask("merge", "cider")

    assert merged["amount"] == 30
    assert run("merge", "cider").exit_code == 1
    assert [part["amount"] for part in ask("balance", "cider")] == [30]


def test_an_offer_is_made_and_completed_or_withdrawn(run, ask):
    ask("mint", "Cider", 5)
    ask("mint", "Bread", 5, wallet="bob")
    ask("claim", stdin=ask("send", 2, "Bread", wallet="bob")["link"])
    asked = ask("ask", 2, "Bread")
    unsure = run("complete", asked["link"], wallet="bob")
    ask("complete", asked["link"], "--yes", wallet="bob")
    traded, withdrawn = (ask("trade", 2, "Cider", 1, "Bread") for _ in range(2))
    taken, paid = ask("take-back", withdrawn["offerId"])
    ask("complete", traded["offerId"], "--yes", wallet="bob")
    late = run("complete", withdrawn["link"], "--yes", wallet="bob")

    assert (unsure.exit_code, late.exit_code) == (1, 1)
    assert "You give 2 “Bread”" in unsure.stderr
    assert (taken["kind"], paid["state"]) == ("withdraw", "held")
    assert sorted(each["state"] for each in ask("check")) == ["held", "spent", "void"]
    assert (free(ask), free(ask, "bob")) == ({"Cider": 3, "Bread": 5}, {"Bread": 0, "Cider": 2})


def test_a_series_of_links_survives_being_killed_and_is_minted_once(ask, start, tmp_path):
    file, wallet = tmp_path / "tickets.csv", tmp_path / "anna.sqlite3"
    command = ["mint", "Night Choir", "--count", "40", "--csv", file]
    process = start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: wallet.exists() and operations_count(wallet) > 2)
    process.kill()
    process.wait()
    assert not file.exists()
    made = ask(*command)
    header, *rows = csv.reader(file.read_text(encoding="utf-8-sig").splitlines())

    assert header == ["number", "units", "link", "note"]
    assert [row[:2] for row in rows] == [[str(number), "1"] for number in range(1, 41)]
    assert (made["made"], file.stat().st_mode & 0o777) == (40, 0o600)
    assert [each["kind"] for each in ask("history")].count("mint") == 1
    assert sorted(path.name for path in tmp_path.glob("*tickets*")) == ["tickets.csv"]
    claimed = ask("claim", wallet="bob", stdin=f"{rows[0][2]} {rows[1][2]}")
    assert [each["said"] for each in claimed] == ["Claimed.", "Claimed."]
    assert ask("take-back", "night", 5, 7, "--yes")[0]["amount"] == 2
    assert free(ask) == {"Night Choir": 2}


def operations_count(wallet):
    with suppress(sqlite3.Error), closing(sqlite3.connect(wallet)) as file:
        (count,) = file.execute("SELECT count(*) FROM records WHERE kind = 'operations'").fetchone()
        return count
    return 0


def test_a_file_that_is_there_is_not_replaced(run, ask, tmp_path):
    file = tmp_path / "there"
    file.write_text("mine")
    mint = ["mint", "Night Choir", "--count", 3, "--csv", file]
    refused = run(*mint), run("export", file, stdin="a passphrase of some words\n")

    assert [each.exit_code for each in refused] == [2, 2]
    assert (file.read_text(), ask("history")) == ("mine", [])


def test_a_wallet_is_exported_and_imported(run, ask, tmp_path):
    ask("mint", "Cider", 5)
    file = tmp_path / "backup.json"
    passphrase = "a passphrase of some words\n"
    ask("export", file, stdin=passphrase)
    wrong = run("import", file, wallet="bob", stdin="another one of some words\n")
    ask("import", file, wallet="bob", stdin=passphrase)

    assert file.stat().st_mode & 0o777 == 0o600
    assert wrong.exit_code == 2
    assert free(ask, "bob") == {"Cider": 5}


def test_what_got_no_answer_is_finished_by_the_next_command(run, ask, monkeypatch):
    ask("mint", "Cider", 5)
    with httpx.HTTPTransport() as http, monkeypatch.context() as patched:

        def lose(request):
            answer = http.handle_request(request)
            if request.method == "POST":
                raise httpx.ReadError("")
            return answer

        transport = httpx.MockTransport(lose)
        patched.setattr(terminal, "Deeds", partial(Deeds, transport=transport, tries=1))
        unanswered = run("send", 3, "Cider")
    finished = run("balance", "Cider")

    assert (unanswered.exit_code, unanswered.stdout) == (3, "")
    assert "written down" in unanswered.stderr
    assert "send 3, done" in finished.stderr
    assert "/claim/deed_" in finished.stdout


def test_what_is_wrong_is_told_in_a_sentence(run, ask, url, tmp_path):
    ask("mint", "Cider", 5)
    wallets = {"damaged": b"not a database" * 100, "empty": b""}
    for name, content in wallets.items():
        (tmp_path / f"{name}.sqlite3").write_bytes(content)
    results = {
        run("balance", wallet="damaged"): 2,
        run("--url", "ftp://deeds.example.com", "balance", wallet="new"): 2,
        run("--url", f"{url}/docs", "balance", wallet="new"): 2,
        run("--url", "http://127.0.0.1:9", "balance"): 2,
        run("send", 6, "Cider"): 1,
        run("send", 0, "Cider"): 2,
        run("split", "Cider", -1): 2,
        run("mint", "Cider"): 2,
        run("claim", stdin="https://deeds.example.com/claim/x"): 2,
        run("claim", stdin=b"\xff"): 2,
        run("complete", f"https://deeds.example.com/offer/offer_{'0' * 26}"): 2,
        run("complete", f"offer_{'0' * 26}"): 1,
        run("take-back", "Cider"): 1,
        run("take-back", ask("ask", 1, "Cider")["offerId"]): 1,
        run("import", tmp_path / "missing"): 2,
        run("export", "/proc/none/x", stdin="a passphrase of some words\n"): 2,
    }
    for result, code in results.items():
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        assert result.stderr.strip()
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "new.sqlite3").exists()


def test_the_version_is_that_of_the_package(run):
    package = tomllib.loads((REPOSITORY / "client" / "pyproject.toml").read_text())["project"]
    assert run("--version").stdout == f"deeds-wallet, version {package['version']}\n"


def test_names_are_completed_from_the_file(ask, tmp_path):
    ask("mint", "Night Choir; $(reboot)", 5)
    words = f"deeds-wallet --wallet {tmp_path / 'anna.sqlite3'} send 1 ni"
    environment = {
        "_DEEDS_WALLET_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": "5",
    }
    completed = CliRunner().invoke(main, [], prog_name="deeds-wallet", env=environment)

    assert ask("balance", "Night-Choir-reboot")
    assert completed.stdout == "plain,Night-Choir-reboot\n"


def test_a_terminal_gets_codes_and_ctrl_c_is_told_in_a_sentence(ask, start):
    ask("mint", "Cider", 5)
    ours, theirs = pty.openpty()
    # Wide enough for a code.
    termios.tcsetwinsize(theirs, (40, 80))
    terminals = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    sending, waiting = start("send", "1", "Cider", **terminals), start("claim", **terminals)
    os.close(theirs)
    shown = b""
    while b"Ctrl-D" not in shown or "█\x1b[0m\r\n".encode() not in shown:
        shown += os.read(ours, 65_536)
    sending.wait(10)
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(10) == 130
    while b"Stopped." not in shown:
        shown += os.read(ours, 65_536)
    os.close(ours)

    assert b"Traceback" not in shown
