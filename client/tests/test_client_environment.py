"""What the environment of a desktop has, which httpx reads, and where services move."""

import subprocess
import sys
from contextlib import closing

import pytest

from deeds_client import Deeds, InvalidInputError, NoAnswerError, Wallet
from tests.support.marker import MARK
from tests.support.serving import REPOSITORY, clean_environment
from tests.support.tls_proxy import make_certificate, running_proxy

PASSPHRASE = "a passphrase of some words\n"
NOT_VALID = {
    "all_proxy": "socks://127.0.0.1:1",
    "ALL_PROXY": "socks5://127.0.0.1:1",
    "https_proxy": f"ftp://user:{MARK}@127.0.0.1",
    "HTTP_PROXY": f"http://user:{MARK}:1:2",
    "NO_PROXY": "localhost,[::1]",
    "SSL_CERT_FILE": "/missing",
    "SSLKEYLOGFILE": "/missing/keys",
}


@pytest.fixture
def run(tmp_path, url):
    """A function that runs a line where a variable has a value."""
    with Deeds(url) as deeds, Wallet(tmp_path / "anna", deeds) as anna:
        anna.mint([5], metadata={"name": "Cider"})

    def run(line, **variables):
        told = {
            "PYTHONPATH": str(REPOSITORY / "client"),
            "DEEDS_URL": url,
            "DEEDS_WALLET": "anna",
        }
        return subprocess.run(
            [sys.executable, "-m", "deeds_client", *line.split()],
            env=clean_environment(told | variables),
            cwd=tmp_path,
            input=PASSPHRASE,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_VALID)
def test_a_variable_that_is_not_valid_is_named_where_it_is_needed(run, name):
    variable = {name: NOT_VALID[name]}

    offline = run("balance Cider", **variable)
    online = run("send 1 Cider", **variable)

    assert (offline.returncode, offline.stdout.count("Cider")) == (0, 1)
    assert (online.returncode, online.stdout) == (2, "")
    [said] = online.stderr.splitlines()
    assert said.startswith(f"{name} must be ")
    assert MARK not in said
    assert run("history").stdout.count("send") == 0


@pytest.mark.slow
def test_no_network_is_needed_to_look_into_a_wallet(run):
    broken = {"SSL_CERT_FILE": "/missing"}

    for line in ("--help", "balance", "history", "show Cider", "export backup"):
        assert run(line, **broken).returncode == 0, line
    restored = run("import backup", **broken)

    assert restored.returncode == 2
    assert restored.stderr.startswith("Restored. ")
    assert restored.stderr.endswith("SSL_CERT_FILE must be a file of certificates.\n")


def test_an_option_that_is_not_valid_is_an_error_of_ours(url):
    with (
        Deeds(url, proxy="socks://127.0.0.1") as deeds,
        pytest.raises(InvalidInputError, match="these options"),
    ):
        deeds.info()


def test_a_service_that_moved_to_https_is_named_and_not_followed():
    to = {"Location": "https://127.0.0.1/deeds/v1/info"}
    with running_proxy(0, answers={"/v1/info": (308, to)}) as port:
        url = f"http://127.0.0.1:{port}"

        with Deeds(url) as deeds, pytest.raises(NoAnswerError) as caught:
            deeds.info()

    said = f"{url} redirects to https://127.0.0.1/deeds: use that address."
    assert str(caught.value) == said


def test_a_certificate_that_is_not_trusted_is_said(tmp_path):
    certificate = make_certificate(tmp_path / "certificate", 1, 1)
    with running_proxy(0, certificate) as port:
        url = f"https://localhost:{port}"

        with Deeds(url) as deeds, pytest.raises(NoAnswerError) as caught:
            deeds.info()

    assert str(caught.value).startswith(f"The certificate of {url} is not trusted:")


def test_a_wallet_and_its_backups_go_with_a_service_that_moves_to_https(tmp_path):
    at = "deeds.example.com"
    with Deeds(f"http://{at}") as deeds, closing(Wallet(tmp_path / "a", deeds)) as old:
        old.export(tmp_path / "backup", PASSPHRASE)

    with Deeds(f"https://{at}") as deeds, closing(Wallet(tmp_path / "a", deeds)) as new:
        new.restore(tmp_path / "backup", PASSPHRASE)

    with pytest.raises(InvalidInputError, match=f"for https://{at}, not http://{at}"):
        Wallet(tmp_path / "a", Deeds(f"http://{at}"))
