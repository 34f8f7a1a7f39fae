"""A real nginx with the settings of deploy/nginx.conf, and clients for it."""

import http.client
import os
import socket
import ssl
import subprocess
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.serving import REPOSITORY
from tests.support.waiting import wait_until

# The line of a machine, in use or not.
SERVER = "    server 127.0.0.1:8000 max_fails=0;\n"

# Lets a test be any client: nginx takes the address from a header.
_CLIENT_BY_HEADER = "set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy: the ports of http and https, and where its files are."""

    process: subprocess.Popen[bytes]
    directory: Path
    http: int
    https: int
    tls: ssl.SSLContext = field(repr=False)

    @property
    def url(self):
        return f"https://localhost:{self.https}"

    def connect(self, timeout_s=60):
        """Return a connection of a client, not yet open."""
        place = "localhost", self.https
        return http.client.HTTPSConnection(*place, timeout=timeout_s, context=self.tls)

    def ask(self, method, path, body=b"", headers=None):
        """Return status, headers and body of an answer over a new connection."""
        with closing(self.connect()) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def set_upstreams(self, *lines):
        """Write other servers into the running nginx's file."""
        path = self.directory / "nginx.conf"
        before, start, rest = path.read_text().partition("upstream deeds {\n")
        kept = [
            line for line in rest.splitlines() if not line.startswith("    server ")
        ]
        path.write_text("\n".join([before + start.rstrip(), *lines, *kept]))


def upstream(port, mark=""):
    """Return the line of nginx.conf for a server that listens on this port."""
    return SERVER.replace("8000", str(port)).replace(";", f"{mark};").rstrip("\n")


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def run(*command, **environment):
    """Return what a command prints; fail where it does."""
    ran = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def make_certificate(directory):
    certificate = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    new = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    files = ["-keyout", directory / "key.pem", "-out", directory / "cert.pem"]
    run("openssl", "req", *new, *files, *certificate)
    return ssl.create_default_context(cafile=str(directory / "cert.pem"))


@contextmanager
def running_nginx(directory, ports):
    """Run nginx with the example's own settings before services on these ports."""
    http_port, https_port = free_port(), free_port()
    tls = make_certificate(directory)
    text = (REPOSITORY / "deploy" / "nginx.conf").read_text()
    for written, meant in {
        SERVER: "".join(f"{upstream(port)}\n" for port in ports),
        "server_name deeds.example.org;": "server_name localhost;",
        "listen 80": f"listen 127.0.0.1:{http_port}",
        "listen 443": f"listen 127.0.0.1:{https_port}",
        "listen [::]:80": f"listen [::1]:{http_port}",
        "listen [::]:443": f"listen [::1]:{https_port}",
        "/etc/letsencrypt/live/deeds.example.org/fullchain.pem": str(
            directory / "cert.pem"
        ),
        "/etc/letsencrypt/live/deeds.example.org/privkey.pem": str(
            directory / "key.pem"
        ),
        "/var/cache/nginx/deeds": str(directory / "cache"),
        "/var/log/nginx/": f"{directory}/",
    }.items():
        assert written in text
        text = text.replace(written, meant)
    whole = directory / "nginx.conf"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""
    whole.write_text(
        f"{user} pid {directory}/pid; events {{}}\n"
        f"http {{ {temporary} {_CLIENT_BY_HEADER}\n{text}\n}}"
    )
    command = ["nginx", "-p", directory, "-c", whole, "-e", directory / "start.log"]
    run(*command, "-t")
    with subprocess.Popen([*command, "-g", "daemon off;"]) as process:
        try:
            wait_until(lambda: is_open(https_port))
            yield Proxy(process, directory, http_port, https_port, tls)
        finally:
            process.terminate()
