"""The README's walk and the limits through docs/operations/nginx.conf: `make operations`.

Not among the tests of `make test`, which must need no more than Python: this needs nginx.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys

import pytest

from tests.readme import make_comparable, readme_blocks
from tests.serving import REPOSITORY, running_service
from tests.waiting import wait_until

CONFIGURATION = REPOSITORY / "docs" / "operations" / "nginx.conf"
WALK = readme_blocks("bash")
ITEM = re.compile(r"deed_[0-9a-z]{26}")


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def answers(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def run(*command, **environment):
    ran = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def service(tmp_path):
    with running_service(tmp_path) as service:
        yield service


@pytest.fixture
def proxy(tmp_path, service):
    """The address of nginx before the service, with the example's own settings."""
    http, https = free_port(), free_port()
    certificate = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    new = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", tmp_path / "key.pem"]
    run("openssl", "req", *new, *certificate, "-out", tmp_path / "cert.pem")
    text = CONFIGURATION.read_text()
    for written, meant in {
        "127.0.0.1:8000 max_fails": f"127.0.0.1:{service.port} max_fails",
        "listen 80;": f"listen 127.0.0.1:{http};",
        "listen 443 ": f"listen 127.0.0.1:{https} ",
        "/etc/letsencrypt/live/deeds.example.org/fullchain.pem": str(tmp_path / "cert.pem"),
        "/etc/letsencrypt/live/deeds.example.org/privkey.pem": str(tmp_path / "key.pem"),
        "/var/cache/nginx/deeds": str(tmp_path / "cache"),
        "/var/log/nginx/": f"{tmp_path}/",
    }.items():
        assert written in text
        text = text.replace(written, meant)
    whole = tmp_path / "nginx.conf"
    temporary = "".join(
        f"{kind}_temp_path {tmp_path}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    whole.write_text(f"{user} pid {tmp_path}/pid; events {{}} http {{ {temporary}\n{text}\n}}")
    command = ["nginx", "-p", tmp_path, "-c", whole, "-e", tmp_path / "start.log"]
    run(*command, "-t")
    with subprocess.Popen([*command, "-g", "daemon off;"]) as process:
        try:
            wait_until(lambda: answers(https))
            yield f"https://127.0.0.1:{https}"
        finally:
            process.terminate()


@pytest.fixture
def curl(tmp_path):
    def send(*arguments):
        return run("curl", "-s", *arguments, CURL_CA_BUNDLE=str(tmp_path / "cert.pem"))

    return send


def test_the_walk_of_the_readme_answers_the_same_through_nginx(proxy, tmp_path):
    script = "\n".join(block.text + r"printf '\0'" for block in WALK)
    script = script.replace("http://127.0.0.1:8000", proxy)
    script = script.replace(".venv/bin/flask ", f"{shlex.quote(sys.executable)} -m flask ")
    script = script.replace("curl -s", "curl --http1.1 -s")
    ran = subprocess.run(
        ["bash", "-eu", "-o", "pipefail"],
        input=script,
        cwd=REPOSITORY,
        env=os.environ | {"CURL_CA_BUNDLE": str(tmp_path / "cert.pem"), "FLASK_SKIP_DOTENV": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    shown, real = make_comparable(), make_comparable()

    assert [
        real(block.answer.language, text)
        for block, text in zip(WALK, ran.stdout.split("\0")[:-1], strict=True)
    ] == [shown(block.answer.language, block.answer.text) for block in WALK]


def mint(curl, proxy, secret):
    body = json.dumps({"outputs": [f"+5.{secret}"]})
    return curl(f"{proxy}/v1/mint", "-H", "Content-Type: application/json", "-d", body)


def test_no_log_and_no_file_of_nginx_holds_a_secret(proxy, curl, tmp_path):
    secret = "mark-" + "7c1f9e"
    item = json.loads(mint(curl, proxy, secret))["itemId"]
    curl(f"{proxy}/v1/check/+5.{item}.{secret}")
    curl(f"{proxy}/v1/item/{item}?secret={secret}")

    files = [path for path in tmp_path.rglob("*") if path.is_file() and "deeds.db" not in path.name]

    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []
    assert f"/v1/item/{item} 200" in (tmp_path / "deeds.log").read_text()


def test_an_item_is_served_from_the_cache_when_the_service_is_away(proxy, curl, service):
    item = json.loads(mint(curl, proxy, "a"))["itemId"]
    first = curl(f"{proxy}/v1/item/{item}")
    unknown = curl(f"{proxy}/v1/item/deed_{'0' * 26}")

    service.process.terminate()
    service.process.wait(timeout=30)
    again = curl(f"{proxy}/v1/item/{item}")
    away = curl(f"{proxy}/v1/item/deed_{'0' * 26}")

    assert first == again
    assert json.loads(unknown)["code"] == "item_not_found"
    assert json.loads(away)["code"] == "ledger_in_doubt"


def test_a_body_above_the_limit_is_refused_in_the_services_own_shape(proxy, curl, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(b" " * (1024 * 1024 + 1))

    answer = curl(f"{proxy}/v1/mint", "--data-binary", f"@{body}", "-w", " %{http_code}")

    problem, status = answer.rsplit(" ", 1)
    assert (json.loads(problem)["code"], status) == ("body_too_large", "413")


def test_an_address_that_asks_too_often_is_told_when_to_come_back(proxy, curl):
    urls = [f"{proxy}/v1/info"] * 300

    said = curl("-i", *urls)

    assert said.count('"code":"too_many_requests"') > 0
    assert said.lower().count("retry-after: 1") == said.count('"code":"too_many_requests"')
