"""What the worker's main thread does for clients that do not read, with real sockets."""

import selectors
import socket
import time

import pytest
from gunicorn.config import Config

from deeds.server.gthread_worker import sending
from deeds.server.gthread_worker.connection import Connection
from deeds.server.gthread_worker.sending import SendingConnections

HOUR_SECONDS = 3600.0

# More than the kernel takes for a client that does not read.
ANSWER = b"answer" * 200_000


class Sender:
    """Sends to clients that a test holds in its hands."""

    def __init__(self):
        self.poller = selectors.DefaultSelector()
        self.sent = []
        self.sending = SendingConnections(self.poller, self._note, HOUR_SECONDS)
        self._sockets = []

    def _note(self, conn, is_kept):
        self.sent.append((conn, is_kept))

    def answer(self):
        """Return a client and its connection, which has not sent all of its answer."""
        client, accepted = socket.socketpair()
        conn = Connection(Config(), accepted, "a client", "here", 0)
        self._sockets += [client, conn.sock]
        conn.sock.sendall(ANSWER)
        assert not conn.sock.send_rest()
        self.sending.add(conn, is_kept=True)
        return client, conn

    def turn(self):
        for key, _ in self.poller.select(0):
            key.data(key.fileobj)

    def close(self):
        for each in self._sockets:
            each.close()
        self.poller.close()


@pytest.fixture
def sender():
    sender = Sender()
    yield sender
    sender.close()


def test_an_answer_is_sent_as_it_is_read(sender):
    client, conn = sender.answer()
    answer = b""

    while len(answer) < len(ANSWER):
        answer += client.recv(65_536)
        sender.turn()

    assert answer == ANSWER
    assert sender.sent == [(conn, True)]


def test_who_does_not_read_in_time_does_not_get_the_rest(sender):
    _, conn = sender.answer()

    sender.sending.end_expired(time.monotonic() + HOUR_SECONDS)

    assert sender.sent == [(conn, False)]
    assert not conn.sock.unsent


def test_who_closes_is_handed_on(sender):
    client, conn = sender.answer()

    client.close()
    sender.turn()

    assert sender.sent == [(conn, False)]


def test_answers_that_wait_have_a_bound_together(sender, monkeypatch):
    monkeypatch.setattr(sending, "UNSENT_BYTES_MAX", 2 * len(ANSWER))

    first, *others = [sender.answer()[1] for _ in range(3)]

    assert sender.sent == [(first, False)]
    assert all(conn.sock.unsent for conn in others)
