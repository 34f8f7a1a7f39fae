"""What the client's tests share with those of the service, which they run against."""

import pytest

pytest_plugins = ("tests.support.fixtures", "tests.support.needs", "tests.support.reporting")

pytest.register_assert_rewrite("client_walk")
