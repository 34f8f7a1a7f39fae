"""The wallet for the terminal, against a running service."""

import csv
import json
import os
import pty
import resource
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from click.testing import CliRunner

from deeds_client import NoAnswerError
from deeds_client.cli import _seconds, main
from deeds_client.service import Deeds
from deeds_client.store import Store
from deeds_client.wallet import Wallet
from tests.support.serving import REPOSITORY

PASSPHRASE = "a passphrase of some words\n"
COMMAND = [sys.executable, "-m", "deeds_client"]


@pytest.fixture(autouse=True)
def here(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "client"))
    monkeypatch.setenv("DEEDS_URL", url)
    monkeypatch.setenv("DEEDS_WALLET", "anna")
    monkeypatch.setattr("deeds_client.calls._WAIT_S", 0.001)


def run(line, wallet="anna", stdin=""):
    """Run `deeds-wallet` with the arguments in a line; return the result."""
    words = ["--wallet", wallet, *shlex.split(line)]
    return CliRunner().invoke(main, words, input=stdin, prog_name="deeds-wallet")


def at_terminal(line, **options):
    """Run a line at a pseudo-terminal; return the exit code."""
    return pty.spawn([*COMMAND, *shlex.split(line)], **options) >> 8


def ask(line, **options):
    result = run(f"--json {line}", **options)
    assert (result.exit_code, '"secret"' in result.stdout) == (0, False), result.output
    return json.loads(result.stdout)


@pytest.fixture
def cider(here):
    """Anna holds five units of Cider."""
    ask("mint Cider 5")


def held(wallet="anna"):
    rows = ask("balance", wallet=wallet)
    return {row["deed"].split("”")[0]: row["held"] for row in rows if "held" in row}


def test_links_go_from_one_wallet_to_another_once():
    ask("mint 'Night Choir' 5")
    sent = run("send 3 night").stdout
    [more] = ask("send 1 night")
    forged = f"{more['link'][:-32]}{'0' * 32}"

    ask("claim", wallet="bob", stdin=f"Here it is:\n\n{sent}")
    partly = run("--json claim", wallet="eve", stdin=f"{sent} {more['link']} {forged}")

    used, fresh, false = json.loads(partly.stdout)
    assert partly.exit_code == 1
    assert "sender" in used["said"]
    assert fresh["said"] == "Claimed."
    assert false["said"] == "This service never made this link, or it was changed."
    assert (held(), held("bob")) == ({"“Night Choir": 1}, {"“Night Choir": 3})


def test_a_link_is_never_taken_from_arguments(cider):
    [sent] = ask("send 1 Cider")

    refused = run(f"claim {sent['link']}", stdin=sent["link"])

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert sent["link"][-32:] not in refused.stderr


def test_a_deed_is_named_in_many_ways():
    [choir] = ask("mint 'Night Choir' 5")
    name, mark = choir["deed"].rsplit(" ", 1)
    item_id = choir["itemId"]
    texts = (name, "NIGHT-ch", mark, item_id[5:9], item_id)
    found = {text: ask(f"balance '{text}'")[0]["itemId"] for text in texts}
    ask("mint Night 5", wallet="bob")
    gift = run("send 1 Night", wallet="bob").stdout.split()[-1]
    ask("claim", stdin=gift)
    # Her own deed is sold out now.
    run(f"send 5 {item_id}")

    # Only a stranger's deed has exactly the name that is typed.
    unclear = run("ask 5 night")
    [asked] = ask("--minted ask 5 night")
    unknown = run("ask 1 🎸").stderr

    assert found == dict.fromkeys(texts, item_id)
    assert (unclear.exit_code, unclear.stdout) == (2, "")
    assert (mark in unclear.stderr, unclear.stderr.count("“Night")) == (True, 2)
    assert asked["itemId"] == item_id
    assert unknown.endswith("no deed in this wallet. Give its id (deed_…).\n")


def test_what_strangers_wrote_is_shown_and_never_obeyed():
    ask("mint '\x1b]0;owned\x07\x1b[31mRed[/red] [bold]b\u202e\nline” 7kq2·m9xd' 1")

    shown = run("balance").stdout + ask("history")[0]["deed"].rsplit("”", 1)[0]

    assert not {"\x1b", "\x07", "\u202e", "”"} & set(shown)
    assert shown.count("[31mRed[/red] [bold]b line 7kq2·m9xd") == 2


def test_parts_are_split_and_merged_into_one(cider):
    ask("split Cider 1 2")

    ask("merge Cider")

    assert [part["amount"] for part in ask("balance Cider")] == [5]


def test_an_offer_is_made_and_completed_or_cancelled(cider):
    [bread] = ask("mint Bread 5", wallet="bob")
    [asked] = ask(f"ask 2 {bread['itemId']}")

    unsure = run(f"complete {asked['link']}", wallet="bob", stdin="y")
    ask(f"complete {asked['link']} --yes", wallet="bob")
    [traded] = ask("trade 2 Cider 1 bread")
    [ended] = ask("trade 2 Cider 1 bread")
    [cancelled] = ask(f"cancel {ended['offerId']}")
    ask(f"complete {traded['offerId']} --yes", wallet="bob")
    late = run(f"complete {ended['link']} --yes", wallet="bob")

    assert (unsure.exit_code, late.exit_code) == (2, 1)
    assert "Give 2 “Bread”" in unsure.stderr
    assert unsure.stderr.endswith("Say --yes to complete without asking.\n")
    assert (cancelled["kind"], cancelled["code"]) == ("trade", "cancelled")
    assert late.stderr == "This offer is void.\n"
    assert held("bob") == {"“Bread": 2, "“Cider": 2}
    ask("check")
    assert held() == {"“Cider": 3, "“Bread": 3}


def lose(*arguments, send=Deeds.send):
    """Send a request, and raise KeyboardInterrupt instead of returning the answer."""
    send(*arguments)
    raise KeyboardInterrupt


def test_a_series_of_links_that_was_broken_off_is_minted_once():
    line = "mint 'Night Choir' --count 9 --csv new"
    with patch.object(Deeds, "send", lose):
        assert run(line).exit_code == 130

    [made] = ask(line)

    file = Path("new")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))
    assert [row["number"] for row in rows] == [*"123456789"]
    assert made["amount"] == 9
    assert file.stat().st_mode & 0o777 == 0o600
    assert [row["kind"] for row in ask("history")].count("mint") == 1
    assert ask("claim", wallet="bob", stdin=rows[0]["link"])[0]["said"] == "Claimed."
    assert ask("take-back night 1 5 7")[0]["amount"] == 2
    assert held() == {"“Night Choir": 2}


def test_a_file_that_comes_in_between_is_left_and_its_links_can_be_had(monkeypatch):
    line = "mint 'Night Choir' --count 9"
    issue = Wallet.issue

    def come_between(*arguments, **options):
        made = issue(*arguments, **options)
        Path("new").write_text("another's")
        return made

    with patch.object(Wallet, "issue", come_between):
        refused = run(f"{line} --csv new")
    reference = refused.stderr.partition("--reference ")[2].split()[0]
    # As on a file system without hard links, such as FAT.
    monkeypatch.setattr(os, "link", Mock(side_effect=PermissionError))
    ask(f"{line} --csv other --reference {reference}")
    again = run(f"{line} --csv other --reference {reference}")

    assert (refused.exit_code, again.exit_code) == (3, 2)
    assert Path("new").read_text() == "another's"
    assert len(Path("other").read_text().splitlines()) == 10
    assert [row["kind"] for row in ask("history")].count("mint") == 1
    assert not list(Path().glob("*.part"))


def test_a_look_for_what_moved_since_a_backup_goes_on(cider):
    ask("export backup", stdin=PASSPHRASE)
    assert Path("backup").stat().st_mode & 0o777 == 0o600
    ask("send 2 Cider")

    with patch.object(Deeds, "find", side_effect=NoAnswerError):
        broken = run("import backup", wallet="bob", stdin=PASSPHRASE)
    # The next command, whichever it is, continues the search.
    found = run("balance Cider", wallet="bob").stdout
    ask("check", wallet="bob")
    again = run("look", wallet="bob")

    assert (broken.exit_code, "continues" in broken.stderr) == (3, True)
    assert ("given" in found, "held" in found) == (True, True)
    assert again.stdout == "Nothing.\n"


def test_what_another_copy_moved_is_not_called_claimed(cider):
    shutil.copy("anna", "twin")
    ask("send 2 Cider", wallet="twin")

    printed = run("check").stdout

    assert "Moved by another copy of this wallet, or claimed.\n" in printed


def test_what_was_broken_off_is_finished_by_the_next_command(cider):
    with patch.object(Deeds, "send", lose):
        broken = run("send 3 Cider --reference order-1 --note 'for Bob'")
    finished = run("balance Cider")
    sent = ask("history")[0]

    assert (broken.exit_code, "next command" in broken.stderr) == (130, True)
    assert "send 3, done" in finished.stderr
    assert (sent["reference"], sent["note"]) == ("order-1", "for Bob")
    assert "/claim/deed_" in finished.stdout


def test_what_is_held_is_shown_without_a_network_and_stays_held():
    ask("mint 'Night Choir' 1 1")
    with closing(Store("anna")) as store, store.transaction() as records:
        for number, part in zip((9, 4), records.outputs(), strict=True):
            records.change(part, number=number, of=200)

    with patch.object(socket.socket, "connect", side_effect=KeyboardInterrupt):
        lowest = run("--json show night")
        [chosen] = ask("show night --number 9")
        unknown = run(f"show deed_{'0' * 26}")
    kept = held()
    ask("claim", wallet="bob", stdin=chosen["link"])

    assert (lowest.exit_code, lowest.stderr) == (0, "")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert (json.loads(lowest.stdout)[0]["number"], chosen["number"]) == (4, 9)
    assert kept == {"“Night Choir": 2}
    assert run("check").stdout.endswith("Used at the door.\n")
    ask("send 1 night")
    assert run("show night").stderr == "Its link was handed out.\n"


def test_of_several_parts_each_is_shown_in_its_turn():
    ask("mint Cider 1 2")

    shown = [ask("show Cider")[0] for _ in range(3)]

    assert shown[0]["link"] == shown[2]["link"] != shown[1]["link"]


def test_the_balance_ends_with_what_no_backup_has(cider):
    ask("export backup", stdin=PASSPHRASE)
    ask("send 1 Cider")
    messages = [run("balance").stderr]
    ask("mint Bread 1")
    messages.append(run("balance").stderr)
    ask("import backup", wallet="bob", stdin=PASSPHRASE)
    messages.append(run("balance", wallet="bob").stderr)

    behind = "Deeds that are in no backup: 1. See deeds-wallet export.\n"
    assert messages == ["", behind, ""]


# `other` does not exist, and `damaged` is neither a wallet nor a backup.
WRONG = {
    "--url http://127.0.0.1:9 --wallet other balance": 3,
    "--wallet damaged balance": 2,
    "--wallet damaged/below balance": 2,
    "send 0 Cider": 2,
    "send 1 ''": 2,
    "export other": 2,
    "mint Cider 5 --count 5 --csv other": 2,
    "mint Cider --csv other": 2,
    "claim": 2,
    f"complete offer_{'0' * 26}": 1,
    "ask 1 Cider --expires soon": 2,
    f"cancel offer_{'0' * 26}": 1,
    "import other": 2,
    "export other/file": 2,
    "import damaged": 2,
    "--wallet other show Cider": 1,
}
# No passphrase, and no valid text.
TYPED = {"export other": "", "claim": b"\xff"}


@pytest.mark.parametrize(("line", "code"), WRONG.items())
def test_what_is_wrong_is_told_in_a_sentence(cider, line, code):
    Path("damaged").write_bytes(b"not a database" * 100)

    refused = run(line, stdin=TYPED.get(line, PASSPHRASE))

    assert (refused.exit_code, refused.stdout) == (code, ""), refused.output
    assert refused.stderr.count("\n") == 1
    assert not Path("other").exists()
    assert held() == {"“Cider": 5}


def test_what_was_taken_back_is_told_where_the_rest_was_claimed():
    ask("mint Bus --count 6 --csv new")
    # The links of the second batch.
    rest = "\n".join(row.split(",")[2] for row in Path("new").read_text().split()[5:])

    def sync(*_arguments):
        ask("claim", wallet="bob", stdin=rest)

    with patch.object(Wallet, "sync", sync):
        taken = run("take-back Bus")

    assert (taken.exit_code, taken.stdout.count("take_back")) == (1, 1)
    assert "Of the others: Spent already" in taken.stderr


def test_an_offer_is_open_for_as_long_as_is_said():
    assert [*map(_seconds, ("90", "15m", "2h", "30d"))] == [90, 900, 7200, 2592000]


def test_a_request_is_waited_for_until_it_is_paid(cider):
    [item] = ask("balance")
    line = f"--wallet bob --json ask 2 {item['itemId']} --wait"
    with subprocess.Popen(
        [*COMMAND, *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        link = process.stderr.readline()
        ask(f"complete {link} --yes")

        out, _ = process.communicate(timeout=30)

    assert (process.returncode, json.loads(out)[0]["state"]) == (0, "done")


def outcome(line):
    """Return the exit code of a line in a shell, and its standard error."""
    script = f"{shlex.join(COMMAND)} {line}; exit ${{PIPESTATUS[0]}}"
    bash = ["bash", "-c", script]
    ran = subprocess.run(bash, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stderr


BROKEN = {
    ">&-": "Standard output: It is closed.",
    ">/dev/full": "Standard output: No space left on device.",
    "| true": "",
}


@pytest.mark.parametrize(("shell", "said"), BROKEN.items())
def test_what_moved_and_cannot_be_printed_is_done(cider, shell, said):
    code, message = outcome(f"send 1 Cider {shell}")

    assert code == 3
    assert said in message
    assert message.count("deeds-wallet history") == message.count("\n") == 1
    assert held() == {"“Cider": 4}


@pytest.mark.parametrize("line", ["history", "--help"])
def test_what_cannot_be_printed_is_said_in_a_line(cider, line):
    assert outcome(f"{line} >/dev/full") == (2, f"{BROKEN['>/dev/full']}\n")


@pytest.mark.parametrize("shell", ["2>&-", "2>/dev/full"])
def test_what_nobody_can_be_told_is_told_by_the_exit_code(cider, shell):
    assert outcome(f"send 0 Cider {shell}") == (2, "")


# The disk of the wallet, and that of the CSV file.
DISK_FULL = [
    (Deeds, "send", "send 1 Cider"),
    (Wallet, "issue", "mint Bus --count 4 --csv new"),
]


@pytest.mark.parametrize(("of", "name", "line"), DISK_FULL)
def test_a_disk_that_is_full_once_units_moved_is_no_refusal(cider, of, name, line):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    work = getattr(of, name)

    def fill(*arguments, **options):
        done = work(*arguments, **options)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
        return done

    with patch.object(of, name, fill):
        full = run(line)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert (full.exit_code, full.stdout) == (3, "")
    said = "it is done, or the next command continues it: see deeds-wallet history"
    assert said in full.stderr
    assert not list(Path().glob("*.part"))
    assert run("balance").exit_code == 0


def test_an_ascii_terminal_gets_what_it_can_show(monkeypatch, capfd):
    ask("mint Käse 5")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    assert at_terminal("balance Käse") == 0
    shown = capfd.readouterr().out
    assert "  K?se " in shown
    assert "??" not in shown


def test_help_lists_all_commands_whole():
    assert "..." not in run("--help").stdout.partition("Commands:")[2]


@pytest.mark.parametrize(("said", "code"), [(b"n\n", 1), (b"y\n", 0)])
def test_a_payment_is_confirmed_at_a_terminal(cider, said, code):
    [item] = ask("balance")
    [asked] = ask(f"ask 2 {item['itemId']}", wallet="bob")
    answers = iter([said])

    ended = at_terminal(
        f"complete {asked['offerId']}", stdin_read=lambda _: next(answers, b"")
    )

    assert ended == code


def test_each_link_is_alone_on_its_line(cider):
    links = [ask(f"ask {amount} Cider")[0]["link"] for amount in (2, 1)]

    assert run("history").stdout.splitlines()[-2:] == links[::-1]


def test_a_link_has_a_code_at_a_terminal(cider, capfd):
    assert at_terminal("show Cider") == 0
    assert "██" in capfd.readouterr().out
