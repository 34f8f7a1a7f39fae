"""The core alone, for tests that need only pytest and the core's four packages.

They must import nothing from tests/support.
"""

import itertools

import pytest

from app import create_app
from deeds.settings import read_settings


@pytest.fixture
def client(tmp_path):
    """A client of the core without parts and with predictable randomness."""
    environ = {
        "DATABASE_URL": f"sqlite:///{tmp_path / 'deeds.sqlite3'}",
        "DEEDS_ARGON2": "m=8,t=1,p=1",
    }
    numbers = itertools.count()
    app = create_app(
        read_settings(environ),
        parts=(),
        token_bytes=lambda length: next(numbers).to_bytes(length),
    )
    yield app.test_client()
    app.extensions["deeds"].close()
