"""Copies of our sources, and Python environments with a few distributions."""

import re
import shutil
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path

from tests.support.serving import REPOSITORY

CORE_FILES = ("app.py", "gunicorn.conf.py", "gunicorn_conf.py")
CORE_FILES += ("deeds", "schemas", "storage")
SERVICE_FILES = (*CORE_FILES, "parts")


def copy_sources(directory, *names):
    """Copy files and directories of the repository into a directory; return it."""
    for name in names:
        source, target = REPOSITORY / name, directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "node_modules")
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copy(source, target)
    return directory


def make_environment(directory, names):
    """Create an environment with these installed distributions and their requirements.

    Return its `bin` directory.
    """
    venv.create(directory, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(directory)}))
    for name in with_requirements(names):
        own = distribution(name)
        for top in {Path(file).parts[0] for file in own.files or ()} - {".."}:
            source = Path(own.locate_file(top))
            if source.exists() and not (packages / top).exists():
                (packages / top).symlink_to(source)
    return directory / "bin"


def with_requirements(names):
    """Return these distributions and all their installed requirements."""
    distributions, pending = set(), set(names)
    while pending:
        name = pending.pop()
        distributions.add(name)
        for line in distribution(name).requires or ():
            requirement, _, condition = line.partition(";")
            if "extra" not in condition:
                pending.add(name_in(requirement))
        pending = {other for other in pending - distributions if is_installed(other)}
    return distributions


def name_in(requirement):
    """Return the distribution's name in a requirement."""
    return re.match(r"[\w.-]+", requirement)[0].lower()


def is_installed(name):
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True
