"""The version is the same wherever it stands."""

import configparser
import re

from deeds.version import INTERFACE_VERSION, VERSION
from tests.support.sources import read_text


def test_setup_cfg_and_the_changelog_have_the_version() -> None:
    setup = configparser.ConfigParser()
    setup.read_string(read_text("setup.cfg"))
    changelog = read_text("CHANGELOG.md")

    assert setup["metadata"]["version"] == VERSION
    assert re.findall(r"^## \[([^]]+)\]", changelog, re.MULTILINE)[0] == VERSION
    assert f"version {INTERFACE_VERSION}" in changelog
