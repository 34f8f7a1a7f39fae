"""What names versions of Python names those of setup.cfg, all or the right one."""

import pytest

from tests.support.sources import found_in, read_text

CLASSIFIER = r"Programming Language :: Python :: (3\.\d+)"
PYTHONS = found_in("setup.cfg", CLASSIFIER)
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]

# What a file names, by where it stands there.
NAMED = [
    ("client/pyproject.toml", CLASSIFIER, PYTHONS),
    ("client/pyproject.toml", r'^requires-python = ">=(.+)"$', [OLDEST]),
    ("setup.cfg", r"^python_requires = >=(\S+)$", [OLDEST]),
    ("Makefile", r"--python-version (\S+)", [OLDEST]),
]
DOCUMENTS = ["README.md", "client/README.md", "docs/testing.md", "Makefile"]


@pytest.mark.parametrize(("path", "pattern", "named"), NAMED)
def test_a_file_names_the_pythons_of_setup_cfg(path, pattern, named):
    assert found_in(path, pattern) == named


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_the_oldest_and_the_newest_python(document):
    assert f"Python {OLDEST} to {NEWEST}" in read_text(document)


def test_the_image_and_platforms_run_one_python():
    [image] = found_in("Dockerfile", r"^FROM python:(3\.\d+)-")

    assert read_text(".python-version") == f"{image}\n"
    assert image in PYTHONS
