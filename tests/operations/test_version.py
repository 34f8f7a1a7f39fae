"""The version is the same wherever it stands."""

import configparser
import re

from deeds.version import INTERFACE_VERSION, VERSION
from tests.support.sources import read_text


def test_setup_cfg_has_the_version() -> None:
    setup = configparser.ConfigParser()
    setup.read_string(read_text("setup.cfg"))

    assert setup["metadata"]["version"] == VERSION


def test_the_newest_release_of_the_changelog_is_the_version() -> None:
    releases = re.findall(r"^## \[([^]]+)\]", read_text("CHANGELOG.md"), re.MULTILINE)

    assert releases[0] == VERSION


def test_the_changelog_names_the_version_of_the_interface() -> None:
    assert f"version {INTERFACE_VERSION}" in read_text("CHANGELOG.md")
