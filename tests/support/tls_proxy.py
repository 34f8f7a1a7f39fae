"""A TLS proxy in front of a service, in a thread of the tests, and its certificate."""

import ssl
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SKIPPED = {"connection", "transfer-encoding", "content-length", "date", "server"}


def make_certificate(path, days_before, days_after):
    """Write a self-signed certificate and its key to a file; return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1)
        .not_valid_before(now - timedelta(days=days_before))
        .not_valid_after(now + timedelta(days=days_after))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return path


class Handler(BaseHTTPRequestHandler):
    """Passes requests on to the upstream, unless the proxy has its own answer."""

    def do_GET(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        if self.path in self.server.answers:
            self.answer(*self.server.answers[self.path])
            return
        if size > self.server.body_max:
            self.answer(413, {})
            return
        upstream = HTTPConnection("127.0.0.1", self.server.upstream_port, timeout=30)
        headers = dict(self.headers) | {"X-Forwarded-For": "203.0.113.9"}
        with closing(upstream):
            upstream.request(self.command, self.path, body, headers)
            answer = upstream.getresponse()
            self.answer(answer.status, dict(answer.getheaders()), answer.read())

    do_POST = do_GET  # noqa: N815

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in SKIPPED:
                self.send_header(name, value)
        self.send_header("Strict-Transport-Security", "max-age=31536000")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Ignore clients that do not trust the certificate."""


@contextmanager
def running_proxy(upstream_port, certificate=None, answers=None, body_max=2**21):
    """Run a proxy in front of a port; yield the proxy's port.

    `answers` maps a path to the status and headers that the proxy itself returns.
    Without a certificate it speaks plain HTTP.
    """
    server = Server(("127.0.0.1", 0), Handler)
    server.upstream_port, server.body_max = upstream_port, body_max
    server.answers = answers or {}
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        # Leave the handshake to the thread of the connection.
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
