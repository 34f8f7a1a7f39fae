"""A service with limits, which several files test."""

import pytest

from deeds.domain.model import Argon2Cost
from deeds.settings import Settings, parse_rate_limits


@pytest.fixture
def limited(sqlite_url, open_app):
    """A function that opens a client of a service with these limits and settings."""

    def open_it(limits, **settings):
        settings = {"ordinary_cost": Argon2Cost(8, 1, 1)} | settings
        limits = parse_rate_limits(limits)
        client = open_app(
            Settings(sqlite_url, rate_limits=limits, **settings)
        ).test_client()
        client.environ_base["REMOTE_ADDR"] = "192.0.2.1"
        return client

    return open_it
