"""The fixture for pytest, and docs/testing-against.md, run as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.commanding import run_program
from tests.support.needs import require
from tests.support.readme import blocks_of
from tests.support.serving import REPOSITORY, clean_environment
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

PAGE = ["docs/testing-against.md"]
NAMED = re.compile(r"(?:#|//) (\S+)\n")
PLUGIN = "deeds_client.testing"
COMMAND = f"{sys.executable} {REPOSITORY / 'app.py'}"

# Each test of these passes.
GOOD = """
import sys
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from deeds_client import Deeds, DeedsError, Output, offer_link, read_claims


def test_states_of_whatever_names_an_output_or_an_offer(deeds):
    made = deeds.mint(5, name="Tea", description="Green")
    assert deeds.wallet("a").item(made.item_id).name == "Tea"
    for each in (made, made.output, made.output.raw, made.link):
        assert deeds.state(each) == "unspent"
    assert deeds.state(Output.fresh(5, made.item_id)) == "unknown"
    bill = deeds.wallet("a").ask(made.item_id, 2)
    offer = Deeds(deeds.url).offer(bill.offer_id)
    for each in (bill, offer, offer.id, offer_link(deeds.url, offer.id)):
        assert deeds.state(each) == "open"
    deeds.audit()


def test_a_bill_is_paid_or_expires(deeds):
    made, shop, customer = deeds.mint(100), deeds.wallet("a"), deeds.wallet("b")
    customer.claim(made.output)
    for order in ("paid", "late"):
        shop.ask(made.item_id, 40, 15 * 60, reference=order)
    paid, late = map(shop.find, ("paid", "late"))
    customer.complete(Deeds(deeds.url).offer(paid.offer_id))
    deeds.clock.advance(minutes=16)
    assert (deeds.state(paid), deeds.state(late)) == ("completed", "expired")
    assert shop.refresh(paid).state == "done" != shop.refresh(late).state


def test_a_card_is_redeemed_once_though_an_answer_is_lost(deeds):
    [card] = read_claims(deeds.mint(2500).link, deeds.url)
    with deeds.fail("lost", path="/v1/swap"):
        assert deeds.wallet("a").claim(card).amount == 2500
    assert deeds.state(card) == "spent"
    with pytest.raises(DeedsError):
        deeds.wallet("a").claim(card)


def test_each_test_has_an_empty_ledger_wallets_and_the_time(deeds):
    assert deeds.wallet("a").balance() == {}
    assert deeds.wallet("a") is deeds.wallet("a") is not deeds.wallet("../a")
    assert abs(deeds.clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    deeds.clock.advance(days=2, seconds=0.5)
    assert deeds.clock.at("8000-01-01T00:00:00Z").year == 8000
    at = datetime(9000, 1, 1, tzinfo=UTC)
    assert at <= deeds.clock.at(at) < at + timedelta(minutes=1)
    with pytest.raises(ValueError, match="only goes forward"):
        deeds.clock.at(datetime(2000, 1, 1, tzinfo=UTC))


def test_faults_end_with_their_block(deeds):
    assert deeds.clock.now().year < 9000
    with deeds.fail("429", path="/v1/info"), deeds.fail("503", next=100):
        assert httpx.get(f"{deeds.url}/v1/info").status_code == 429
        assert httpx.get(deeds.url).status_code == 503
    assert httpx.get(deeds.url).status_code == 200
    with deeds.fail("slow", seconds=1), pytest.raises(httpx.ReadTimeout):
        httpx.get(deeds.url, timeout=0.2)


def test_nothing_of_the_service_is_imported(deeds):
    ours = {"app", "deeds", "parts", "schemas", "storage"}
    assert not ours & {name.partition(".")[0] for name in sys.modules}
"""

# One passes and is an error, the next one fails; each for its own reason.
BAD = """
import os
import sqlite3
from contextlib import closing
from glob import glob


def test_a_violation_is_an_error(deeds):
    deeds.mint(5)
    [path] = glob(os.environ["TMPDIR"] + "/deeds-dev-*/ledger.sqlite3")
    with closing(sqlite3.connect(path)) as ledger, ledger:
        ledger.execute("UPDATE items SET total = 6")


def test_a_fault_that_nothing_met_fails(deeds):
    with deeds.fail("lost", path="/v1/swaps"):
        deeds.mint(5)
"""

MANY = """
import pytest
from deeds_client import Deeds, Output


@pytest.fixture(scope="session")
def client(_deeds_server):
    return Deeds(_deeds_server.url)


@pytest.mark.parametrize("number", range({count}))
def test_mint_and_swap(deeds, client, number):
    made = deeds.mint(2500)
    client.swap([made.output], [Output.fresh(2500, made.item_id)])
    print(deeds.url)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where the client is installed, with its plugin."""
    directory = tmp_path_factory.mktemp("installed")
    source, target = directory / "client", directory / "packages"
    ignored = shutil.ignore_patterns("tests", "build")
    shutil.copytree(REPOSITORY / "client", source, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"]
    subprocess.run([*pip, "--quiet", "--target", target, source], check=True)
    return target


@pytest.fixture
def variables(installed):
    """The environment of a developer, with the plugin of ours and no other."""
    ours = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": PLUGIN}
    paths = {"PYTHONPATH": str(installed), "DEEDS_COMMAND": COMMAND}
    return clean_environment(ours | paths)


@pytest.fixture
def run_tests(tmp_path, variables):
    """A function that runs pytest on a file of this text elsewhere; its output."""

    def run_tests(text, *arguments, **more):
        (tmp_path / "test_ours.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        env = variables | {"TMPDIR": str(tmp_path)} | more
        ran = run_program(*command, *arguments, cwd=tmp_path, env=env)
        return ran.stdout + ran.stderr

    return run_tests


def test_the_fixture_does_what_it_says(run_tests):
    assert "6 passed" in run_tests(GOOD)


def test_a_violation_and_an_unmet_fault_are_no_success(run_tests):
    printed = run_tests(BAD)

    assert "1 failed, 1 passed, 1 error" in printed
    assert "the ledger violates: the live outputs of an item sum to its" in printed
    assert "no request met the fault 'lost'" in printed
    # The log of the service is beside the test that fails.
    _, _, told = printed.partition("Captured stderr call")
    assert "route=/v1/mint method=POST status=200" in told


def test_each_worker_of_xdist_has_a_service(run_tests):
    printed = run_tests(MANY.format(count=8), "-p", "xdist", "-n", "2", "-rP")

    assert "8 passed" in printed
    assert len(set(re.findall(r"^http://127.0.0.1:\d+$", printed, re.MULTILINE))) == 2


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("no-such-deeds", "there is no command no-such-deeds: install it (pipx"),
        ("false", "false dev did not start; its log says why"),
    ],
)
def test_what_cannot_be_started_is_one_line(run_tests, command, line):
    printed = run_tests(MANY.format(count=2), "-x", DEEDS_COMMAND=command)

    _, _, told = printed.partition("= ERRORS =")
    told, _, _ = told.partition("short test summary")
    lines = [each for each in told.splitlines() if each and each[0] not in "=_"]
    assert len(lines) == 1
    assert line in lines[0]


def test_the_service_ends_with_a_pytest_that_is_killed(tmp_path, variables):
    waits = """
import pathlib
import time


def test_it(deeds):
    pathlib.Path("begun").touch()
    time.sleep(60)
"""
    (tmp_path / "test_ours.py").write_text(waits)
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=variables | {"TMPDIR": str(tmp_path)},
    ) as process:
        wait_until((tmp_path / "begun").exists)
        [service] = psutil.Process(process.pid).children()
        process.kill()

    wait_until(lambda: not service.is_running())
    assert list(tmp_path.glob("deeds-dev-*")) == []


def test_the_page_can_be_followed(tmp_path, variables):
    require("node 20 or newer")
    for language in ("python", "js"):
        for text, _ in blocks_of(PAGE, language):
            (tmp_path / NAMED.match(text)[1]).write_text(text)
    command = tmp_path / "bin" / "deeds"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {COMMAND} "$@"\n')
    command.chmod(0o755)
    paths = [command.parent, Path(sys.executable).parent, os.environ["PATH"]]
    # The plugin is found as others are.
    for name in ("DEEDS_COMMAND", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        del variables[name]
    [(workflow, _)] = blocks_of(PAGE, "yaml")
    install, *lines = re.findall("^- run: (.*)$", workflow, re.MULTILINE)
    assert install == ('pipx install ./deeds && pip install "./deeds/client[testing]"')

    ran = [
        run_program(
            *("sh", "-c", line),
            cwd=tmp_path,
            env=variables | {"PATH": os.pathsep.join(map(str, paths))},
        )
        for line in lines
    ]

    assert [each.returncode for each in ran] == [0, 0], ran
    assert "2 passed" in ran[0].stdout
    assert "# pass 1" in ran[1].stdout
