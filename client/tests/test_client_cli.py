"""The wallet for the terminal, against a running service."""

import csv
import json
import pty
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
from tests.support.serving import REPOSITORY, running_service
from tests.support.waiting import wait_until

COMMAND = [sys.executable, "-m", "deeds_client"]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service that takes eight outputs at once."""
    with running_service(
        tmp_path_factory.mktemp("service"), DEEDS_MAX_ARRAY="8"
    ) as service:
        yield service.url


@pytest.fixture(autouse=True)
def here(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "client"))
    monkeypatch.setenv("DEEDS_URL", url)
    monkeypatch.setenv("DEEDS_WALLET", "anna")


def run(*words, wallet="anna", stdin="", **env):
    words = ["--wallet", wallet, *map(str, words)]
    return CliRunner().invoke(
        main, words, input=stdin, prog_name="deeds-wallet", env=env
    )


def ask(*words, **options):
    result = run("--json", *words, **options)
    assert (result.exit_code, '"secret"' in result.stdout) == (0, False), result.output
    return json.loads(result.stdout)


def held(wallet="anna"):
    rows = ask("balance", wallet=wallet)
    return {row["deed"].split("”")[0]: row["held"] for row in rows if "held" in row}


def test_links_go_from_one_wallet_to_another_once():
    ask("mint", "Night Choir", 5)
    sent, (more,) = run("send", 3, "night").stdout, ask("send", 1, "night")
    claimed = run("claim", wallet="bob", stdin=f"Here it is:\n\n{sent}").stdout
    partly = run("--json", "claim", wallet="eve", stdin=f"{sent} {more['link']}")
    used, fresh = (row["said"] for row in json.loads(partly.stdout))

    assert (claimed.split()[:3], claimed.split()[-1]) == (
        ["amount", "deed", "said"],
        "Claimed.",
    )
    assert (partly.exit_code, "sender" in used, fresh) == (1, True, "Claimed.")
    assert (held(), held("bob")) == ({"“Night Choir": 1}, {"“Night Choir": 3})
    assert [row["state"] for row in ask("check")] == ["spent", "spent"]


@pytest.mark.parametrize(
    "command", [[], ["claim"], ["send", 1], ["balance"], ["take-back"]]
)
def test_a_link_is_never_taken_from_arguments(command):
    ask("mint", "Cider", 5)
    (sent,) = ask("send", 1, "Cider")
    refused = run(*command, sent["link"], stdin=sent["link"])

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert sent["link"][-32:] not in refused.stderr


def test_a_deed_is_named_in_many_ways():
    (choir,), _ = ask("mint", "Night Choir", 5), ask("mint", "Night Choirs", 5)
    name, mark, item_id = *choir["deed"].rsplit(" ", 1), choir["itemId"]
    for text in (name, "night choir", "NIGHT-choir", mark, item_id[5:9], item_id):
        assert ask("balance", text)[0]["itemId"] == item_id
    unclear = run("balance", "night c")
    assert (unclear.exit_code, unclear.stderr.count("“Night ")) == (2, 2)


def test_what_strangers_wrote_is_shown_and_never_obeyed():
    ask("mint", "\x1b]0;owned\x07\x1b[31mRed[/red] [bold]b\u202e\nline” 7kq2·m9xd", 1)
    shown = run("balance").stdout + ask("history")[0]["deed"].rsplit("”", 1)[0]
    assert not {"\x1b", "\x07", "\u202e", "”"} & set(shown)
    assert shown.count("[31mRed[/red] [bold]b line 7kq2·m9xd") == 2


def test_parts_are_split_and_merged_into_one():
    ask("mint", "Cider", 30)
    ask("split", "Cider", 1, 2)
    assert ask("merge", "cider")[0]["amount"] == 30
    assert [part["amount"] for part in ask("balance", "cider")] == [30]


def test_an_offer_is_made_and_completed_or_withdrawn():
    ask("mint", "Cider", 5)
    bread = ask("mint", "Bread", 5, wallet="bob")[0]["itemId"]
    asked = ask("ask", 2, bread)[0]["link"]
    unsure = run("complete", asked, wallet="bob", stdin="n")
    ask("complete", asked, "--yes", wallet="bob")
    ask("check")
    traded, withdrawn = (ask("trade", 2, "Cider", 1, "bread")[0] for _ in range(2))
    (taken,) = ask("take-back", withdrawn["offerId"])
    ask("complete", traded["offerId"], "--yes", wallet="bob")
    late = run("complete", withdrawn["link"], "--yes", wallet="bob")

    assert (unsure.exit_code, late.exit_code, taken["kind"]) == (1, 1, "withdraw")
    assert "Give 2 “Bread”" in unsure.stderr
    assert sorted(row["state"] for row in ask("check")) == ["held", "spent", "void"]
    assert (held(), held("bob")) == (
        {"“Cider": 3, "“Bread": 3},
        {"“Bread": 2, "“Cider": 2},
    )


def test_a_series_of_links_survives_being_killed_and_is_minted_once():
    command, file = (
        ["mint", "Night Choir", "--count", "40", "--csv", "new"],
        Path("new"),
    )

    def operations():
        with closing(Store("anna")) as store:
            return store.all("operations")

    with subprocess.Popen([*COMMAND, *command], stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: len(operations()) > 2)
        process.kill()
    (made,), again = ask(*command), run("mint", "Bus", "--count", "4", *command[-2:])
    rows = list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))

    assert [row["number"] for row in rows] == [str(number) for number in range(1, 41)]
    assert (made["amount"], again.exit_code, file.stat().st_mode & 0o777) == (
        40,
        2,
        0o600,
    )
    assert [row["kind"] for row in ask("history")].count("mint") == 1
    assert ask("claim", wallet="bob", stdin=rows[0]["link"])[0]["said"] == "Claimed."
    assert ask("take-back", "night", 1, 5, 7)[0]["amount"] == 2
    assert held() == {"“Night Choir": 2}


def test_a_wallet_is_exported_and_imported():
    ask("mint", "Cider", 5)
    ask("export", "backup", stdin="a passphrase of some words\n")
    wrong = run("import", "backup", wallet="bob", stdin="another one of some words\n")
    ask("import", "backup", wallet="bob", stdin="a passphrase of some words\n")
    again = run("export", "backup", stdin="a passphrase of some words\n")

    mode = Path("backup").stat().st_mode & 0o777
    assert (mode, wrong.exit_code, again.exit_code) == (0o600, 2, 2)
    assert held("bob") == {"“Cider": 5}


@pytest.mark.parametrize(
    ("error", "code"), [(NoAnswerError(key="1"), 3), (KeyboardInterrupt, 130)]
)
def test_what_was_broken_off_is_finished_by_the_next_command(monkeypatch, error, code):
    def lose(*arguments, send=Deeds.send):
        send(*arguments)
        raise error

    ask("mint", "Cider", 5)
    with monkeypatch.context() as patched:
        patched.setattr(Deeds, "send", lose)
        broken = run("send", 3, "Cider")
    finished = run("balance", "Cider")

    assert (broken.exit_code, "next command" in broken.stderr) == (code, True)
    assert "send 3, done" in finished.stderr
    assert "/claim/deed_" in finished.stdout


@pytest.mark.parametrize(
    ("code", "words", "stdin"),
    [
        (3, ["--url", "http://127.0.0.1:9", "--wallet", "other", "balance"], ""),
        (2, ["--url", "http://127.0.0.1:9", "balance"], ""),
        (2, ["--wallet", "damaged", "balance"], ""),
        (2, ["send", 0, "Cider"], ""),
        (2, ["send", 1, ""], ""),
        (2, ["export", "other"], ""),
        (2, ["balance", "🎸"], ""),
        (2, ["mint", "Cider", 5, "--count", 5, "--csv", "other"], ""),
        (2, ["claim"], b"\xff"),
        (1, ["complete", f"offer_{'0' * 26}"], ""),
        (1, ["take-back", "Cider"], ""),
        (2, ["import", "other"], ""),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(code, words, stdin):
    ask("mint", "Cider", 5)
    Path("damaged").write_bytes(b"not a database" * 100)
    refused = run(*words, stdin=stdin)

    assert (refused.exit_code, refused.stdout) == (code, ""), refused.output
    assert refused.stderr.count("\n") == 1
    assert (Path("other").exists(), held()) == (False, {"“Cider": 5})


def test_names_are_completed_from_the_file():
    _ = ask("mint", "Bread", 5), ask("mint", "Night Choir; $(reboot)", 5)
    words = {"COMP_WORDS": "deeds-wallet --wallet anna send 1 ni", "COMP_CWORD": "5"}
    completed = run(_DEEDS_WALLET_COMPLETE="bash_complete", **words)

    assert completed.stdout == "plain,Night-Choir-reboot\n"
    assert ask("balance", "Night-Choir-reboot")


def test_a_link_has_a_code_at_a_terminal(capfd):
    ask("mint", "Cider", 5)
    assert pty.spawn([*COMMAND, "send", "1", "Cider"]) == 0
    assert "██" in capfd.readouterr().out
