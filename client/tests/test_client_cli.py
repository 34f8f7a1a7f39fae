"""The wallet for the terminal, against a running service."""

import json

import pytest
from click.testing import CliRunner

from deeds_client.cli import main
from tests.support.serving import running_service


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service that takes eight outputs at once."""
    with running_service(tmp_path_factory.mktemp("service"), DEEDS_MAX_ARRAY="8") as service:
        yield service.url


@pytest.fixture
def run(url, tmp_path):
    """A function that runs a command in a wallet and returns its result."""

    def run(*arguments, wallet="anna", stdin=""):
        options = ["--wallet", tmp_path / f"{wallet}.sqlite3", "--url", url]
        return CliRunner().invoke(main, [*map(str, [*options, *arguments])], input=stdin)

    return run


@pytest.fixture
def ask(run):
    """A function that runs a command and returns its JSON."""

    def ask(*arguments, **options):
        result = run("--json", *arguments, **options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return ask


def test_a_link_goes_from_one_wallet_to_another(run, ask):
    ask("mint", "Night Choir", 5)
    sent = run("send", 3, "night")
    claimed = run("claim", wallet="bob", stdin=f"Here it is: <{sent.stdout.splitlines()[1]}>.")

    assert claimed.stdout.startswith("3 units of “Night Choir”")
    assert ask("balance", wallet="bob")["deeds"][0]["free"] == 3
