"""What the client's tests share with those of the service, which they run against."""

pytest_plugins = ("tests.support.fixtures", "tests.support.needs", "tests.support.reporting")
