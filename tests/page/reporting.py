"""Where the line is kept that says after all tests where the pictures are."""

import pytest

SCREENSHOTS = pytest.StashKey[str]()
