"""Where the lines are kept that tests of faults print at the end."""

import pytest

LINES = pytest.StashKey[list[str]]()
