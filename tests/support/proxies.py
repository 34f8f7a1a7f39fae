"""A real nginx and a real Caddy with the settings of deploy/."""

import os
import socket
import ssl
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.support.api import Api
from tests.support.serving import clean_environment
from tests.support.sources import read_text, replaced
from tests.support.waiting import wait_until

# The line of deploy/nginx.conf that names an upstream server.
SERVER = "    server 127.0.0.1:8000 max_fails=0;\n"

# Lets a test be any client: nginx takes the address from a header.
_CLIENT_BY_HEADER = "set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy, with its ports and the directory of its files.

    `authority` is the certificate with which clients verify it.
    """

    process: subprocess.Popen[bytes]
    directory: Path
    http: int
    https: int
    authority: Path
    tls: ssl.SSLContext = field(repr=False)

    @property
    def url(self):
        return f"https://localhost:{self.https}"

    @contextmanager
    def open_api(self):
        """Yield a client that trusts its certificate."""
        with closing(Api.of_url(self.url, self.tls)) as api:
            yield api

    def set_upstreams(self, *lines):
        """Replace the upstream servers in the configuration file of nginx."""
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


@contextmanager
def running_nginx(directory, ports):
    """Run nginx with deploy/nginx.conf, in front of services on these ports."""
    http_port, https_port = free_port(), free_port()
    # The certificate and its key have the names that certbot gives them.
    certificate = directory / "fullchain.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", directory / "privkey.pem", "-out", certificate]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True)
    tls = ssl.create_default_context(cafile=certificate)
    replacements = {
        SERVER: "".join(f"{upstream(port)}\n" for port in ports),
        "server_name deeds.example.org;": "server_name localhost;",
        "listen 80": f"listen 127.0.0.1:{http_port}",
        "listen 443": f"listen 127.0.0.1:{https_port}",
        "listen [::]:80": f"listen [::1]:{http_port}",
        "listen [::]:443": f"listen [::1]:{https_port}",
        "/etc/nginx/deeds": str(directory),
        "/var/cache": str(directory),
        "/var/log/nginx": str(directory),
    }
    text = replaced(read_text("deploy/nginx.conf"), replacements)
    whole = directory / "nginx.conf"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""
    whole.write_text(
        f"{user} pid {directory}/pid; events {{}}\n"
        f"http {{ {temporary} {_CLIENT_BY_HEADER}\n{text}\n}}"
    )
    command = ["nginx", "-p", directory, "-c", whole, "-e", directory / "start.log"]
    subprocess.run([*command, "-t"], check=True)
    with subprocess.Popen([*command, "-g", "daemon off;"]) as process:
        try:
            wait_until(lambda: is_open(https_port))
            yield Proxy(process, directory, http_port, https_port, certificate, tls)
        finally:
            process.terminate()


@contextmanager
def running_caddy(directory, ports):
    """Run Caddy with deploy/Caddyfile, in front of the service on this port."""
    [service_port] = ports
    port = free_port()
    # Turn off only what would change this machine.
    apart = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n"
    file, log = directory / "Caddyfile", directory / "caddy.log"
    file.write_text(read_text("deploy/Caddyfile").replace("{\n", apart, 1))
    places = {
        "SITE": f"https://localhost:{port}",
        "UPSTREAM": f"127.0.0.1:{service_port}",
        "XDG_DATA_HOME": str(directory),
        "XDG_CONFIG_HOME": str(directory),
    }
    command = [Path(sys.executable).parent / "caddy", "run", "--config", file]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, env=clean_environment(places), stdout=output, stderr=output
        ) as process,
    ):
        try:
            wait_until(lambda: "certificate obtained successfully" in log.read_text())
            authority = directory / "caddy/pki/authorities/local/root.crt"
            tls = ssl.create_default_context(cafile=authority)
            proxy = Proxy(process, directory, 0, port, authority, tls)
            wait_until(lambda: _serves(proxy))
            yield proxy
        finally:
            process.terminate()


def _serves(proxy):
    # The certificate may not be in use yet.
    with suppress(httpx.ConnectError), proxy.open_api() as api:
        return api.get("/v1/info").status_code == 200
    return False
