"""What `deeds doctor --url` says of a service behind a proxy with TLS."""

import shutil
import socket
from contextlib import ExitStack

import pytest

from tests.support.api import environ_of
from tests.support.doctoring import examined
from tests.support.proxies import free_port
from tests.support.tls_proxy import make_certificate, running_proxy

PUBLIC = "parts.operator.public_url"
BEHIND_ONE = {"DEEDS_TRUSTED_PROXIES": "1"}


@pytest.fixture(scope="module")
def environ(sqlite_template, tmp_path_factory):
    path = shutil.copy(sqlite_template, tmp_path_factory.mktemp("ledger"))
    return environ_of(f"sqlite:///{path}", **BEHIND_ONE, DEEDS_METRICS="on")


@pytest.fixture(scope="module")
def service(shared_service, environ):
    return shared_service(**environ)


@pytest.fixture
def examine(environ, service, tmp_path, monkeypatch):
    """A function that examines it behind such a proxy, with these settings here."""
    with ExitStack() as stack:

        def run(*, life=(10, 80), http=None, here=(), **proxy):
            certificate = make_certificate(tmp_path / "proxy.pem", *life)
            proxy.setdefault("answers", {"/metrics": (404, {})})
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            monkeypatch.setattr(f"{PUBLIC}.HTTP_PORT", http or free_port())
            proxied = running_proxy(service.port, certificate, **proxy)
            port = stack.enter_context(proxied)
            url = f"https://localhost:{port}"
            return examined(environ | dict(here), "--url", url)

        yield run


def test_of_a_proxy_as_it_should_be_only_its_number_is_unknown(examine):
    lines = examine()

    assert lines["TLS"] == "ok the certificate is valid for 80 days"
    assert lines["http"].endswith(" does not answer")
    assert lines["service"] == "ok ready, version 0.1.0"
    assert lines["proxy"] == "ok it passes bodies of 1048576 bytes on"
    assert lines["metrics"] == "ok not public"
    assert lines["clients"].startswith("unknown whether DEEDS_TRUSTED_PROXIES=1 is")


@pytest.mark.parametrize(
    ("proxy", "subject", "said"),
    [
        ({"life": (20, -1)}, "TLS", "certificate has expired"),
        ({"life": (78, 12)}, "TLS", "valid for 12 days; why was it not renewed?"),
        ({"answers": {"/healthz": (502, {})}}, "service", "answers 502 to /healthz"),
        ({"answers": {"/readyz": (503, {})}}, "service", "/readyz answers 503"),
        ({"answers": {"/v1/info": (200, {})}}, "service", "has version unknown"),
        ({"here": {"DEEDS_MAX_ARRAY": "9"}}, "service", "(limits in /v1/info)"),
        ({"body_max": 2**20 - 1}, "proxy", "refuses a body of 1048576 bytes"),
        ({"answers": {}}, "metrics", "everybody can read them"),
        (
            {"here": {"DEEDS_TRUSTED_PROXIES": "0"}},
            "clients",
            "all clients count as one",
        ),
    ],
)
def test_what_is_not_as_it_should_be_has_its_line(examine, proxy, subject, said):
    line = examine(**proxy)[subject]

    assert line.startswith("wrong ")
    assert said in line


def test_where_the_settings_are_unknown_nothing_is_compared_with_them(
    examine, monkeypatch
):
    not_opened = examine(answers={}, here={"DATABASE_URL": "mysql:///deeds"})
    monkeypatch.setenv("DEEDS_LOG", "loud")
    invalid = examine(answers={})

    for lines in (not_opened, invalid):
        assert lines["service"].startswith("unknown not compared with the settings")
        assert lines["metrics"].startswith("wrong ")
        assert not {"proxy", "clients"} & lines.keys()


@pytest.mark.parametrize("life", [(4, 2), (350, 15)])
def test_a_certificate_is_renewed_by_a_part_of_its_life_and_in_time(examine, life):
    assert examine(life=life)["TLS"].startswith("ok ")


def test_the_service_is_not_reached_without_tls(examine, service):
    location = {"Location": "https://localhost/healthz"}
    with running_proxy(0, answers={"/healthz": (301, location)}) as redirecting:
        redirected = examine(http=redirecting)["http"]

    assert redirected.endswith(" redirects to https")
    assert examine(http=service.port)["http"].startswith("wrong ")


@pytest.mark.parametrize(
    ("host", "state"),
    [("127.0.0.1", "unknown"), ("0.0.0.0", "wrong")],  # noqa: S104
)
def test_an_address_without_tls_is_for_this_machine(environ, service, host, state):
    lines = examined(environ, "--url", f"http://{host}:{service.port}")

    assert lines["TLS"].split()[0] == state


def test_nobody_there_is_said_and_nobody_waits_for_long(environ, monkeypatch):
    # A refusal comes at once, but a busy machine may need more than the next ones get.
    refused = examined(environ, "--url", f"https://localhost:{free_port()}")
    monkeypatch.setattr(f"{PUBLIC}.ANSWER_SECONDS_MAX", 0.2)
    unknown = examined(environ, "--url", "https://nobody.invalid")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        timed_out = examined(environ, "--url", f"http://127.0.0.1:{port}")

    assert "Connection refused" in refused["proxy"]
    assert unknown["proxy"].startswith("wrong no answer from nobody.invalid, port 443")
    assert timed_out["proxy"].startswith(f"wrong no answer from 127.0.0.1, port {port}")
