"""Variables that httpx reads, certificates, and services that move to https."""

from contextlib import closing

import pytest
from click.testing import CliRunner

from deeds_client import (
    Deeds,
    InvalidInputError,
    NoAnswerError,
    Wallet,
    WalletFileError,
)
from deeds_client.cli import main
from tests.support.marker import MARK
from tests.support.tls_proxy import make_certificate, running_proxy

PASSPHRASE = "a passphrase of some words\n"
NOT_VALID = {
    "ALL_PROXY": "socks5://127.0.0.1:1",
    "https_proxy": f"ftp://user:{MARK}@127.0.0.1",
    "NO_PROXY": "localhost,[::1]",
    "SSL_CERT_FILE": "/missing",
    "SSLKEYLOGFILE": "/missing/keys",
}


@pytest.mark.parametrize("name", NOT_VALID)
def test_a_variable_that_is_not_valid_is_named(url, name, monkeypatch):
    monkeypatch.setenv(name, NOT_VALID[name])

    with (
        Deeds(url) as deeds,
        pytest.raises(InvalidInputError, match=f"^{name} must be ") as caught,
    ):
        deeds.info()

    assert MARK not in str(caught.value)


@pytest.fixture
def run(tmp_path, url, anna, monkeypatch):
    """A function that runs a command on a wallet, while no certificates are found."""
    anna.mint([5], metadata={"name": "Cider"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", "/missing")

    def run(line):
        words = ["--url", url, "--wallet", "anna", *line.split()]
        return CliRunner().invoke(main, words, input=PASSPHRASE)

    return run


def test_no_network_is_needed_to_look_into_a_wallet(run):
    for line in ("--help", "balance", "history", "show Cider", "export backup"):
        assert run(line).exit_code == 0, line
    refused, restored = run("send 1 Cider"), run("import backup")

    assert (refused.exit_code, restored.exit_code) == (2, 2)
    assert refused.stderr == "SSL_CERT_FILE must be a file of certificates.\n"
    assert restored.stderr.startswith("Restored. ")
    assert run("history").stdout.count("send") == 0


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


def test_a_backup_of_another_service_is_not_taken_in(tmp_path, anna):
    deeds = Deeds("http://a.example")
    with closing(Wallet(tmp_path / "other", deeds)) as other:
        other.export(tmp_path / "backup", PASSPHRASE)

    with pytest.raises(WalletFileError, match="not for http"):
        anna.restore(tmp_path / "backup", PASSPHRASE)
