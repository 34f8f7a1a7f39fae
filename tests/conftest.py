"""What all tests share."""

pytest_plugins = (
    "tests.support.needs",  # Before what imports it.
    "tests.support.fixtures",
    "tests.support.reporting",
)
