"""The wallet for the terminal, against a running service."""

import csv
import json
import pty
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from deeds_client import NoAnswerError
from deeds_client.cli import main
from deeds_client.records import Store
from deeds_client.service import Deeds
from tests.support.serving import REPOSITORY
from tests.support.waiting import wait_until

PASSPHRASE = "a passphrase of some words\n"
COMMAND = [sys.executable, "-m", "deeds_client"]


@pytest.fixture(autouse=True)
def here(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "client"))
    monkeypatch.setenv("DEEDS_URL", url)
    monkeypatch.setenv("DEEDS_WALLET", "anna")
    monkeypatch.setattr("deeds_client.service._WAIT_S", 0.001)


def run(*words, wallet="anna", stdin="", **env):
    words = ["--wallet", wallet, *map(str, words)]
    return CliRunner().invoke(
        main, words, input=stdin, prog_name="deeds-wallet", env=env
    )


def ask(*words, **options):
    result = run("--json", *words, **options)
    assert (result.exit_code, '"secret"' in result.stdout) == (0, False), result.output
    return json.loads(result.stdout)


@pytest.fixture
def cider(here):
    """Anna holds five units of it."""
    ask("mint", "Cider", 5)


def held(wallet="anna"):
    rows = ask("balance", wallet=wallet)
    return {row["deed"].split("”")[0]: row["held"] for row in rows if "held" in row}


def test_links_go_from_one_wallet_to_another_once():
    ask("mint", "Night Choir", 5)
    sent = run("send", 3, "night").stdout
    [more] = ask("send", 1, "night")

    claimed = run("claim", wallet="bob", stdin=f"Here it is:\n\n{sent}").stdout
    partly = run("--json", "claim", wallet="eve", stdin=f"{sent} {more['link']}")

    assert claimed.startswith("amount  deed")
    assert claimed.endswith("Claimed.\n")
    used, fresh = json.loads(partly.stdout)
    assert partly.exit_code == 1
    assert "sender" in used["said"]
    assert fresh["said"] == "Claimed."
    assert (held(), held("bob")) == ({"“Night Choir": 1}, {"“Night Choir": 3})
    assert [row["state"] for row in ask("check")] == ["spent", "spent"]


@pytest.mark.parametrize(
    "command",
    [[], ["claim"], ["send", 1], ["balance"], ["take-back"]],
    ids=["none", "claim", "send", "balance", "take-back"],
)
def test_a_link_is_never_taken_from_arguments(cider, command):
    [sent] = ask("send", 1, "Cider")

    refused = run(*command, sent["link"], stdin=sent["link"])

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert sent["link"][-32:] not in refused.stderr


def test_a_deed_is_named_in_many_ways():
    [choir] = ask("mint", "Night Choir", 5)
    ask("mint", "Night Choirs", 5)
    name, mark = choir["deed"].rsplit(" ", 1)
    item_id = choir["itemId"]

    texts = (name, "night choir", "NIGHT-choir", mark, item_id[5:9], item_id)
    found = {text: ask("balance", text)[0]["itemId"] for text in texts}
    unclear = run("balance", "night c")

    assert found == dict.fromkeys(texts, item_id)
    assert (unclear.exit_code, unclear.stderr.count("“Night ")) == (2, 2)


def test_what_strangers_wrote_is_shown_and_never_obeyed():
    ask("mint", "\x1b]0;owned\x07\x1b[31mRed[/red] [bold]b\u202e\nline” 7kq2·m9xd", 1)

    shown = run("balance").stdout + ask("history")[0]["deed"].rsplit("”", 1)[0]

    assert not {"\x1b", "\x07", "\u202e", "”"} & set(shown)
    assert shown.count("[31mRed[/red] [bold]b line 7kq2·m9xd") == 2


def test_parts_are_split_and_merged_into_one():
    ask("mint", "Cider", 30)
    ask("split", "Cider", 1, 2)

    [merged] = ask("merge", "cider")

    assert merged["amount"] == 30
    assert [part["amount"] for part in ask("balance", "cider")] == [30]


def test_an_offer_is_made_and_completed_or_withdrawn(cider):
    [bread] = ask("mint", "Bread", 5, wallet="bob")
    [asked] = ask("ask", 2, bread["itemId"])

    unsure = run("complete", asked["link"], wallet="bob", stdin="n")
    ask("complete", asked["link"], "--yes", wallet="bob")
    ask("check")
    [traded] = ask("trade", 2, "Cider", 1, "bread")
    [withdrawn] = ask("trade", 2, "Cider", 1, "bread")
    [taken] = ask("take-back", withdrawn["offerId"])
    ask("complete", traded["offerId"], "--yes", wallet="bob")
    late = run("complete", withdrawn["link"], "--yes", wallet="bob")

    assert (unsure.exit_code, late.exit_code, taken["kind"]) == (1, 1, "withdraw")
    assert "Give 2 “Bread”" in unsure.stderr
    assert late.stderr == "This offer is void.\n"
    assert sorted(row["state"] for row in ask("check")) == ["held", "spent", "void"]
    assert held() == {"“Cider": 3, "“Bread": 3}
    assert held("bob") == {"“Bread": 2, "“Cider": 2}
    assert "offer_withdrawn" in run("history").stdout


def test_an_offer_that_has_ended_takes_no_other_back(cider, ledger):
    [bread] = ask("mint", "Bread", 5, wallet="bob")
    [old] = ask("trade", 2, "Cider", 1, bread["itemId"])
    ledger.expire_offers()
    ask("check")
    [new] = ask("trade", 2, "Cider", 1, bread["itemId"])

    late = run("take-back", old["offerId"])

    assert late.exit_code == 1
    ask("complete", new["link"], "--yes", wallet="bob")


def test_a_series_of_links_survives_being_killed_and_is_minted_once():
    command = ["mint", "Night Choir", "--count", "200", "--csv", "new"]
    with (
        subprocess.Popen([*COMMAND, *command], stderr=subprocess.DEVNULL) as process,
        closing(Store("anna")) as store,
    ):
        wait_until(lambda: len(store.all("operations")) > 2)
        process.kill()

    [made] = ask(*command)
    again = run("mint", "Bus", "--count", "4", "--csv", "new")

    file = Path("new")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))
    assert [row["number"] for row in rows] == [str(number) for number in range(1, 201)]
    assert (made["amount"], again.exit_code) == (200, 2)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [row["kind"] for row in ask("history")].count("mint") == 1
    assert ask("claim", wallet="bob", stdin=rows[0]["link"])[0]["said"] == "Claimed."
    assert ask("take-back", "night", 1, 5, 7)[0]["amount"] == 2
    assert held() == {"“Night Choir": 2}


BROKEN_OFF = pytest.mark.parametrize(
    ("error", "code"),
    [(NoAnswerError(key="1"), 3), (KeyboardInterrupt, 130)],
    ids=["no answer", "Ctrl-C"],
)


@BROKEN_OFF
def test_a_look_for_what_moved_since_a_backup_goes_on(cider, monkeypatch, error, code):
    def lose(deeds, path, *about, ask=Deeds._ask):
        if path == "/v1/find":
            raise error
        return ask(deeds, path, *about)

    ask("export", "backup", stdin=PASSPHRASE)
    assert Path("backup").stat().st_mode & 0o777 == 0o600
    ask("send", 2, "Cider")
    ask("send", 1, "Cider")

    with monkeypatch.context() as patched:
        patched.setattr(Deeds, "_ask", lose)
        broken = run("import", "backup", wallet="bob", stdin=PASSPHRASE)
    due = run("balance", wallet="bob").stderr
    rows = ask("look", wallet="bob")
    again = run("look", wallet="bob")
    whole = run("import", "backup", wallet="eve", stdin=PASSPHRASE).stdout

    assert (broken.exit_code, "New here: 1 output.\n" in broken.stderr) == (code, True)
    assert not any("link" in row or "said" in row for row in rows)
    found = [(row["state"], row["amount"]) for row in rows]
    assert sorted(found) == [("given", 1), ("given", 2), ("held", 2), ("spent", 3)]
    assert "deeds-wallet look" in due
    assert "deeds-wallet look" not in again.stderr
    assert again.stdout == "Nothing new was found.\n"
    assert whole == "Restored. New here: 1 output. Found since this backup: 4.\n"
    assert held("bob") == held("eve") == {"“Cider": 2}


def test_what_another_copy_moved_is_not_called_claimed(cider):
    ask("export", "backup", stdin=PASSPHRASE)
    ask("import", "backup", wallet="twin", stdin=PASSPHRASE)
    ask("send", 2, "Cider", wallet="twin")

    told = run("check").stdout

    assert told.endswith("Moved by another copy of this wallet, or claimed.\n")


@BROKEN_OFF
def test_what_was_broken_off_is_finished_by_the_next_command(
    cider, monkeypatch, error, code
):
    def lose(*arguments, send=Deeds.send):
        send(*arguments)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(Deeds, "send", lose)
        broken = run("send", 3, "Cider")
    finished = run("balance", "Cider")

    assert (broken.exit_code, "next command" in broken.stderr) == (code, True)
    assert "send 3, done" in finished.stderr
    assert "/claim/deed_" in finished.stdout


def test_what_is_held_is_shown_without_a_network_and_stays_held(monkeypatch):
    def fail(*_arguments):
        raise KeyboardInterrupt

    [made] = ask("mint", "Night Choir", 1, 1, 2)
    with closing(Store("anna")) as store, store.transaction():
        store.put("items", {**store.get("items", made["itemId"]), "unit": "ticket"})
        for number, part in zip((9, 4), store.outputs(), strict=False):
            store.change(part["key"], number=number, of=200)
    with monkeypatch.context() as patched:
        patched.setattr(Deeds, "send", fail)
        run("send", 2, "night")

    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "connect", fail)
        lowest = run("show", "night")
        [chosen] = ask("show", "night", "--number", 9)
    kept = held()
    ask("claim", wallet="bob", stdin=chosen["link"])
    told = run("check").stdout
    ask("send", 1, "night")
    late = [run("show", "night", *number).stderr for number in ((), ("--number", 9))]

    assert (lowest.exit_code, lowest.stderr) == (0, "")
    assert "ticket 4 of 200, 1 of 2 here" in lowest.stdout
    assert chosen["said"] == "ticket 9 of 200"
    assert kept == {"“Night Choir": 2}
    assert told.endswith("Used at the door.\n")
    assert late[0] == "Its link was handed out.\n"
    assert late[1] == "No number 9 of this deed is here.\n"


def test_of_several_parts_each_is_shown_in_its_turn():
    ask("mint", "Cider", 1, 2)

    shown = [ask("show", "Cider")[0] for _ in range(3)]

    said = ["1 of 2 here", "2 of 2 here", "1 of 2 here"]
    assert [part["said"] for part in shown] == said
    assert shown[0]["link"] == shown[2]["link"] != shown[1]["link"]


def test_the_balance_ends_with_what_no_backup_has(cider):
    told = [run("balance").stderr]
    ask("export", "backup", stdin=PASSPHRASE)
    ask("send", 1, "Cider")
    told.append(run("balance").stderr)
    ask("mint", "Bread", 1)
    told.append(run("balance").stderr)
    ask("import", "backup", wallet="bob", stdin=PASSPHRASE)
    told.append(run("balance", wallet="bob").stderr)

    behind = "1 deed came in after the last backup: deeds-wallet export FILE\n"
    assert told == ["Not backed up yet.\n", "", behind, ""]


ELSEWHERE = ["--url", "http://127.0.0.1:9"]
WRONG = {
    "no service": (3, [*ELSEWHERE, "--wallet", "other", "balance"], ""),
    "another service": (2, [*ELSEWHERE, "balance"], ""),
    "a damaged wallet": (2, ["--wallet", "damaged", "balance"], ""),
    "an amount of nothing": (2, ["send", 0, "Cider"], ""),
    "no deed": (2, ["send", 1, ""], ""),
    "no passphrase": (2, ["export", "other"], ""),
    "an unknown deed": (2, ["balance", "🎸"], ""),
    "an amount and a count": (
        2,
        ["mint", "Cider", 5, "--count", 5, "--csv", "other"],
        "",
    ),
    "no text": (2, ["claim"], b"\xff"),
    "an unknown offer": (1, ["complete", f"offer_{'0' * 26}"], ""),
    "nothing given": (1, ["take-back", "Cider"], ""),
    "no file": (2, ["import", "other"], ""),
    "a file that is there": (2, ["export", "damaged"], PASSPHRASE),
    "no backup": (2, ["import", "damaged"], PASSPHRASE),
    "no wallet to show": (1, ["--wallet", "other", "show", "Cider"], ""),
    "no deed to show": (1, ["show", f"deed_{'0' * 26}"], ""),
}


@pytest.mark.parametrize(("code", "words", "stdin"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_a_sentence(cider, code, words, stdin):
    Path("damaged").write_bytes(b"not a database" * 100)

    refused = run(*words, stdin=stdin)

    assert (refused.exit_code, refused.stdout) == (code, ""), refused.output
    assert refused.stderr.count("\n") == 1
    assert not Path("other").exists()
    assert held() == {"“Cider": 5}


def test_names_are_completed_from_the_file():
    ask("mint", "Bread", 5)
    ask("mint", "Night Choir; $(reboot)", 5)
    words = {"COMP_WORDS": "deeds-wallet --wallet anna send 1 ni", "COMP_CWORD": "5"}

    completed = run(_DEEDS_WALLET_COMPLETE="bash_complete", **words)

    assert completed.stdout == "plain,Night-Choir-reboot\n"
    assert ask("balance", "Night-Choir-reboot")


@pytest.mark.parametrize("command", [["send", "1"], ["show"]], ids=["send", "show"])
def test_a_link_has_a_code_at_a_terminal(cider, capfd, command):
    assert pty.spawn([*COMMAND, *command, "Cider"]) == 0
    assert "██" in capfd.readouterr().out
