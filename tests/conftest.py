"""What all tests share."""

pytest_plugins = (
    "tests.support.fixtures",
    "tests.support.needs",
    "tests.support.reporting",
)
