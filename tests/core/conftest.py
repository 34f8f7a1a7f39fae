"""The core alone, for tests that need pytest and its four packages and nothing else."""

import itertools

import pytest

from app import create_app
from deeds.settings import read_settings


@pytest.fixture
def clock():
    """Milliseconds that a test may set."""
    return [1_700_000_000_000]


@pytest.fixture
def client(tmp_path, clock):
    """A client of the core without any part, whose clock and randomness are given."""
    environ = {
        "DATABASE_URL": f"sqlite:///{tmp_path / 'deeds.sqlite3'}",
        "DEEDS_ARGON2": "m=8,t=1,p=1",
    }
    numbers = itertools.count()
    app = create_app(
        read_settings(environ),
        parts=(),
        clock=lambda: clock[0],
        token_bytes=lambda length: next(numbers).to_bytes(length),
    )
    yield app.test_client()
    app.extensions["deeds"].close()
