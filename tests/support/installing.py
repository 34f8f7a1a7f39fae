"""Python environments with some distributions and nothing else."""

import re
import shutil
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path

from tests.support.serving import REPOSITORY


def copied(directory, *names):
    """Copy files and directories of the repository into a directory; return it."""
    for name in names:
        source, target = REPOSITORY / name, directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "node_modules")
            shutil.copytree(source, target, ignore=skipped)
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
    found, wanted = set(), set(names)
    while wanted:
        name = wanted.pop()
        found.add(name)
        for line in distribution(name).requires or ():
            required, _, condition = line.partition(";")
            if "extra" not in condition:
                wanted.add(name_in(required))
        wanted = {each for each in wanted - found if is_installed(each)}
    return found


def name_in(requirement):
    """Return the distribution's name in a requirement."""
    return re.match(r"[\w.-]+", requirement)[0].lower()


def is_installed(name):
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True
