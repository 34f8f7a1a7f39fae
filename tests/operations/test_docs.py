"""The documents say what the code does."""

import configparser
import re

import pytest

from deeds.blueprints.problems import PROBLEMS
from deeds.blueprints.v1 import INTERFACE_VERSION, VERSION
from tests.support.serving import REPOSITORY
from tests.support.sources import (
    documents,
    files_that_touch_the_environment,
    read_text,
    read_variables,
    section,
    table_rows,
)

# A link in Markdown, images too, without its fragment; those with a scheme lead elsewhere.
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(?:#[^)]*)?\)")

# They run tests by the names of their files.
NAMING_TESTS = ["tests/operations/deploy_pgbouncer.py", "tests/operations/test_needs.py"]


def code_in_first_cells(text: str) -> list[str]:
    """Return what the first cells of the tables hold, without backticks."""
    return [row[0].strip("`") for row in table_rows(text)]


def test_the_settings_page_and_the_example_list_every_setting_and_no_other() -> None:
    page, _, _ = read_text("docs/settings.md").partition("\n## ")
    example = re.findall(r"^#? ?([A-Z][A-Z0-9_]*)=", read_text(".env.example"), re.MULTILINE)

    assert sorted(code_in_first_cells(page)) == sorted(example) == sorted(read_variables())


def test_the_environment_is_read_where_the_test_of_settings_looks() -> None:
    """Otherwise a setting could be read that the test above does not know of."""
    assert files_that_touch_the_environment() == {
        "app.py",  # Hands it to deeds/settings.py.
        "deeds/blueprints/problems.py",  # That of a WSGI request.
        "deeds/server/log.py",  # Hands it to deeds/settings.py.
        "deeds/settings.py",
        "deeds/server/metrics.py",  # Sets it for prometheus-client.
        "gunicorn.conf.py",
    }


def test_no_document_names_a_setting_that_nobody_reads() -> None:
    named = {
        name
        for path in [*documents(), "Makefile", "gunicorn.conf.py", ".env.example"]
        for name in re.findall(r"\bDEEDS_[A-Z0-9_]*[A-Z0-9]\b", read_text(path))
    }

    assert named - read_variables() == set()


def test_the_table_of_problems_is_the_codes() -> None:
    documented = [
        row for row in table_rows(read_text("docs/problems.md")) if row[0].strip("`") in PROBLEMS
    ]

    assert documented == [
        [f"`{problem.code}`", str(int(problem.status)), problem.title, problem.meaning]
        for problem in PROBLEMS.values()
    ]


def test_the_settings_page_gives_the_reason_for_every_dependency() -> None:
    required = re.findall(r"^([a-z][a-z0-9-]*)", read_text("requirements.in"), re.MULTILINE)

    assert code_in_first_cells(section("docs/settings.md", "Why these packages")) == required


def test_the_documents_name_every_target_of_make_and_no_other() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", read_text("Makefile"), re.MULTILINE)

    named = {
        target
        for path in documents()
        for target in re.findall(r"(?:`|^ *)make ([a-z-]+)", read_text(path), re.MULTILINE)
    }

    assert named == set(targets)


def test_every_test_file_that_is_named_exists() -> None:
    named = {
        (source, path)
        for source in [*documents(), *NAMING_TESTS]
        for path in re.findall(r"\btests/[\w/]+\.py\b", read_text(source))
    }

    assert {source for source, _ in named} > set(NAMING_TESTS)
    assert [(source, path) for source, path in named if not (REPOSITORY / path).exists()] == []


@pytest.mark.parametrize("document", documents())
def test_every_link_leads_to_a_file_and_no_gap_is_left_to_fill(document: str) -> None:
    text = read_text(document)
    directory = (REPOSITORY / document).parent

    assert [link for link in LINK.findall(text) if not (directory / link).exists()] == []
    assert re.findall(r"\b(?:FIGURES|TODO|TBD|FIXME)\b", text) == []


def test_the_architecture_links_every_decision() -> None:
    decisions = [path for path in documents() if path.startswith("docs/decisions/")]
    links = LINK.findall(section("ARCHITECTURE.md", "Decisions"))

    assert links == decisions


def test_setup_cfg_and_the_changelog_have_the_version() -> None:
    setup = configparser.ConfigParser()
    setup.read_string(read_text("setup.cfg"))
    changelog = read_text("CHANGELOG.md")

    assert setup["metadata"]["version"] == VERSION
    assert re.findall(r"^## \[([^]]+)\]", changelog, re.MULTILINE)[0] == VERSION
    assert f"version {INTERFACE_VERSION}" in changelog
