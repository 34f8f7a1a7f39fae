"""Mints at a service that asks for a token."""

import os
import pty
import sys
from contextlib import ExitStack

import httpx
import pytest
from click.testing import CliRunner
from client_support import Lines, at

from deeds_client import Deeds, InvalidInputError, ProblemError
from deeds_client.cli import main
from tests.support.serving import REPOSITORY, running_service

TOKEN, OTHER = "a-token-+/=~0123456", "another-token-012345"
MOVED = httpx.Response(307, headers={"Location": "https://elsewhere.example/v1/mint"})


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service whose mints need the token."""
    directory = tmp_path_factory.mktemp("token")
    with running_service(directory, DEEDS_MINT_TOKEN=TOKEN) as service:
        yield service.url


@pytest.fixture
def sent():
    """The path, host and Authorization of each request sent."""
    return []


@pytest.fixture
def dealing(url, sent):
    """A function that returns the service, with a token and fates of its requests."""

    def dealing(token, *fates):
        fate = at("/v1/mint", *fates, "answered")

        def note(request):
            authorization = request.headers.get("Authorization")
            sent.append((request.url.path, request.url.host, authorization))
            return fate(request)

        transport = Lines(url, note)
        deeds = Deeds(url, mint_token=token, transport=transport, sleep=lambda _: None)
        return stack.enter_context(deeds)

    with ExitStack() as stack:
        yield dealing


def test_the_token_goes_with_mints_to_the_service_alone(dealing, sent):
    deeds = dealing(TOKEN, MOVED)

    [output] = deeds.mint([5])
    deeds.swap([output], [output.fresh(5, output.item_id)])
    info = deeds.info()

    here, bearer = "127.0.0.1", f"Bearer {TOKEN}"
    assert sent == [
        *[("/v1/mint", here, bearer)] * 2,
        ("/v1/swap", here, None),
        ("/v1/info", here, None),
    ]
    assert info.needs_mint_token
    assert TOKEN not in repr([deeds, vars(deeds)])


@pytest.mark.parametrize(
    ("token", "code"),
    [("", "mint_token_required"), (OTHER, "mint_token_wrong")],
)
def test_a_mint_without_the_token_is_refused_for_good(dealing, token, code):
    with pytest.raises(ProblemError) as caught:
        dealing(token).mint([5])

    error = caught.value
    assert (error.code, error.status, error.is_final) == (code, 401, True)
    assert OTHER not in f"{error} {error!r}"


@pytest.mark.parametrize("token", [f"{TOKEN}\n", f"{TOKEN}é"])
def test_a_token_that_no_header_can_carry_is_not_sent(url, token):
    with pytest.raises(InvalidInputError) as caught:
        Deeds(url, mint_token=token)

    assert TOKEN not in str(caught.value)


@pytest.fixture
def run(url, tmp_path, monkeypatch):
    """A function that runs a command on a wallet at the service."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "client"))
    monkeypatch.setenv("DEEDS_URL", url)
    monkeypatch.setenv("DEEDS_WALLET", "anna")

    def run(*words, **env):
        return CliRunner().invoke(main, words, prog_name="deeds-wallet", env=env)

    return run


def test_the_wallet_reads_the_token_from_a_file(run, tmp_path):
    (tmp_path / "token").write_text(f"\n{TOKEN} \r\n{OTHER}\n")
    (tmp_path / "empty").write_text("\n")

    named = run("mint", "Cider", "5", "--token-file", "token")
    by_variable = run("mint", "Perry", "5", DEEDS_MINT_TOKEN_FILE="token")
    empty = run("mint", "Cider", "5", "--token-file", "empty")

    assert [each.exit_code for each in (named, by_variable, empty)] == [0, 0, 2]
    assert empty.stderr == "A mint token is printable ASCII without spaces.\n"
    assert TOKEN.encode() not in (tmp_path / "anna").read_bytes()


def test_a_person_is_asked_for_the_token_unseen(run, capfd):
    command = [sys.executable, "-m", "deeds_client", "mint", "Cider", "5"]

    def answer(terminal):
        printed = os.read(terminal, 1024)
        # What is typed before the prompt is discarded.
        if b"Mint token:" in printed:
            os.write(terminal, f"{TOKEN}\n".encode())
        return printed

    ended = pty.spawn(command, answer) >> 8

    said = capfd.readouterr().out
    assert (ended, "Mint token:" in said, TOKEN in said) == (0, True, False)
