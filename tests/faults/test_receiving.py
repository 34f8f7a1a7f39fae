"""What the worker's main thread does for one client at most, with real sockets in this process."""

import selectors
import socket
import time

import pytest
from gunicorn.config import Config

from deeds.server.gthread_worker.connection import Connection
from deeds.server.gthread_worker.receiving import (
    LARGE_COUNT_MAX,
    LARGE_SECONDS_MIN,
    LOOK_SECONDS,
    PIECE_BYTES_MIN,
    PIECES_COUNT_MAX,
    SMALL_BYTES,
    ReceivingConnections,
)

HOUR_SECONDS = 3600.0
BODY_BYTES_MAX = 100_000
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"


class Receiver:
    """Receives from clients that a test holds in its hands."""

    def __init__(self):
        self.poller = selectors.DefaultSelector()
        self.enough = []
        self.receiving = ReceivingConnections(
            self.poller, self.enough.append, HOUR_SECONDS, BODY_BYTES_MAX
        )
        self._sockets = []

    def connect(self):
        """Return a client's socket and its connection."""
        client, accepted = socket.socketpair()
        conn = Connection(Config(), accepted, "a client", "here", BODY_BYTES_MAX)
        self._sockets += [client, conn.sock]
        self.receiving.add(conn)
        return client, conn

    def turn(self):
        """Do what the main thread does in one turn, and return for how many sockets."""
        events = self.poller.select(0)
        for key, _ in events:
            key.data(key.fileobj)
        return len(events)

    def look_after(self, seconds_from_now):
        self.receiving.look_after(time.monotonic() + seconds_from_now)

    def send_head(self, client, conn):
        """Bring a connection so far that only its body is missing."""
        client.sendall(HEAD)
        self.turn()
        assert self.enough.pop() is conn
        assert conn.parser.read_request() is None
        self.receiving.add(conn)

    def close(self):
        for each in self._sockets:
            each.close()
        self.poller.close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_a_byte_at_a_time_costs_few_turns(receiver):
    client, conn = receiver.connect()

    turns_count = 0
    for _ in range(100):
        client.sendall(b"x")
        turns_count += receiver.turn()

    assert turns_count == PIECES_COUNT_MAX + 1
    receiver.look_after(LOOK_SECONDS)
    assert len(conn.parser.received.data) == 100
    assert receiver.enough == []


def test_larger_pieces_are_read_as_they_come(receiver):
    client, conn = receiver.connect()
    receiver.send_head(client, conn)

    for count in range(1, 4 * PIECES_COUNT_MAX):
        client.sendall(b"x" * PIECE_BYTES_MIN)
        receiver.turn()
        assert len(conn.parser.received.data) == count * PIECE_BYTES_MIN


def test_a_whole_request_is_handed_on_once(receiver):
    client, conn = receiver.connect()
    receiver.send_head(client, conn)

    client.sendall(b"x" * 60_000)
    receiver.turn()
    assert receiver.enough == []
    client.sendall(b"x" * 40_000)
    while receiver.turn():
        pass

    assert receiver.enough == [conn]


def test_what_has_had_its_time_is_handed_on_as_it_is(receiver):
    _, silent = receiver.connect()
    client, conn = receiver.connect()
    receiver.send_head(client, conn)

    receiver.look_after(HOUR_SECONDS)

    assert set(receiver.enough) == {silent, conn}
    assert conn.parser.received.is_enough()


@pytest.fixture
def full(receiver):
    """Return connections that fill the room for large requests, but for their last bytes."""
    found = []
    for _ in range(LARGE_COUNT_MAX):
        client, conn = receiver.connect()
        receiver.send_head(client, conn)
        client.sendall(b"x" * (BODY_BYTES_MAX - 1))
        while receiver.turn():
            pass
        found.append(conn)
    return found


def large_newcomer(receiver):
    client, conn = receiver.connect()
    receiver.send_head(client, conn)
    client.sendall(b"x" * BODY_BYTES_MAX)
    while receiver.turn():
        pass
    return conn


def test_a_large_request_waits_for_room(receiver, full):
    conn = large_newcomer(receiver)

    assert len(conn.parser.received.data) == SMALL_BYTES
    assert receiver.enough == []


def test_the_slowest_large_request_makes_room(receiver, full):
    conn = large_newcomer(receiver)
    full[0].waiting_since -= LARGE_SECONDS_MIN

    receiver.look_after(LOOK_SECONDS)

    assert receiver.enough == [full[0], conn]
    assert not full[0].parser.received.data


def test_small_requests_need_no_room(receiver, full):
    client, conn = receiver.connect()

    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    receiver.turn()

    assert receiver.enough == [conn]
