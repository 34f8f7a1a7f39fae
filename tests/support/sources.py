"""Reads the sources and documents of the project."""

import configparser
import os
import re
import runpy

import pytest

from tests.support.api import read_settings
from tests.support.serving import REPOSITORY


def read_variables():
    """Return the environment variables that the service reads at its start."""
    names = set()

    class RecordingEnvironment(dict):
        def get(self, name, default=None):
            names.add(name)
            return default

    read_settings(RecordingEnvironment())
    run_gunicorn_conf(RecordingEnvironment())
    return names


def run_gunicorn_conf(environment):
    """Return the settings of gunicorn_conf.py in an environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", environment)
        return runpy.run_path(
            str(REPOSITORY / "gunicorn_conf.py"), run_name="gunicorn_conf"
        )


def module_paths():
    """Return the paths of all modules of the packages, without their `__init__.py`."""
    packages = ("deeds", "schemas", "storage", "parts")
    found = _found(f"{package}/**/*.py" for package in packages)
    return [path for path in found if not path.endswith("__init__.py")]


# The suffixes of Python and JavaScript files.
KINDS = (".py", ".js")


def sources():
    """Return the paths of our files in Python, JavaScript and Markdown."""
    found = ["app.py", *documents()]
    for package in ("deeds", "schemas", "storage", "parts", "client", "bench", "tests"):
        for place, directories, names in os.walk(REPOSITORY / package):
            directories[:] = [each for each in directories if each != "node_modules"]
            found += [f"{place}/{each}" for each in names if each.endswith(KINDS)]
    return found


def documents():
    return _found(("*.md", "docs/**/*.md", "client/*.md"))


def _found(patterns):
    found = [path for pattern in patterns for path in REPOSITORY.glob(pattern)]
    return sorted(path.relative_to(REPOSITORY).as_posix() for path in found)


def read_text(path):
    return (REPOSITORY / path).read_text(encoding="utf-8")


def found_in(path, pattern):
    """Return the matches of a pattern in a file. ^ and $ match at each line."""
    return re.findall(pattern, read_text(path), re.MULTILINE)


def read_dockerfile():
    """Return the instructions of all stages, each as its name and its arguments."""
    text = read_text("Dockerfile").replace("\\\n", " ")
    return re.findall(r"^([A-Z]+) +(.+)$", text, re.MULTILINE)


def read_setup():
    """Return the parsed setup.cfg."""
    setup = configparser.ConfigParser()
    setup.read_string(read_text("setup.cfg"))
    return setup


def replaced(text, replacements):
    """Return the text after the replacements, each of which must occur in it."""
    for old, new in replacements.items():
        assert old in text
        text = text.replace(old, new)
    return text


def section(document, heading):
    """Return the text below a second-level heading, up to the next one."""
    _, found, rest = read_text(document).partition(f"\n## {heading}\n")
    assert found, f"{document} has no section {heading}"
    return rest.partition("\n## ")[0]


def table_rows(text):
    """Yield the cells of each row of the tables, except for their heads."""
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        is_head = following.startswith("|--")
        if line.startswith("| ") and not is_head:
            yield [cell.strip() for cell in line.strip("|").split(" | ")]
