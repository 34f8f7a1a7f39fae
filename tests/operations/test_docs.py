"""The documents say what the code does, and their blocks for bash run as they stand."""

import configparser
import re
import sqlite3
from contextlib import closing

import pytest

from deeds.blueprints.problems import PROBLEMS
from deeds.blueprints.v1 import INTERFACE_VERSION, VERSION
from deeds.domain.raw_output import is_strong_secret
from tests.support.readme import (
    WALK,
    assert_answers_as_shown,
    blocks_of,
    run_bash,
    walk,
)
from tests.support.serving import REPOSITORY
from tests.support.sources import (
    documents,
    read_text,
    read_variables,
    section,
    table_rows,
)

# A link in Markdown, images too, without its fragment; those with a scheme lead
# elsewhere.
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(?:#[^)]*)?\)")


def named_in(paths, pattern):
    """Return what the pattern finds in any of the files."""
    return {
        name
        for path in paths
        for name in re.findall(pattern, read_text(path), re.MULTILINE)
    }


def code_in_first_cells(text):
    """Return what the first cells of the tables hold, without backticks."""
    return [row[0].strip("`") for row in table_rows(text)]


def test_the_settings_page_and_the_example_list_every_setting_and_no_other():
    page, _, _ = read_text("docs/settings.md").partition("\n## ")
    example = re.findall(
        r"^#? ?([A-Z][A-Z0-9_]*)=", read_text(".env.example"), re.MULTILINE
    )

    assert (
        sorted(code_in_first_cells(page)) == sorted(example) == sorted(read_variables())
    )


def test_no_document_names_a_setting_that_nobody_reads():
    ours = [path for path in documents() if not path.startswith("client/")]
    places = [*ours, "Makefile", "gunicorn.conf.py", ".env.example"]

    assert named_in(places, r"\bDEEDS_[A-Z0-9_]*[A-Z0-9]\b") <= read_variables()


def test_the_table_of_problems_is_the_codes():
    documented = [
        row
        for row in table_rows(read_text("docs/problems.md"))
        if row[0].strip("`") in PROBLEMS
    ]

    assert documented == [
        [
            f"`{problem.code}`",
            str(problem.status),
            "yes" if problem.is_final else "no",
            problem.title,
            problem.meaning,
        ]
        for problem in PROBLEMS.values()
    ]


def test_the_settings_page_gives_the_reason_for_every_dependency():
    required = re.findall(
        r"^([a-z][a-z0-9-]*)", read_text("requirements.in"), re.MULTILINE
    )

    assert (
        code_in_first_cells(section("docs/settings.md", "Why these packages"))
        == required
    )


def test_the_documents_name_every_target_of_make_and_no_other():
    targets = named_in(["Makefile"], r"^([a-z-]+):.*## ")

    assert named_in(documents(), r"(?:`|^ *)make ([a-z-]+)") == targets


def test_every_source_that_is_named_exists():
    named = named_in(
        documents(), r"\b(?:bench|deeds|schemas|storage|tests)/[\w/]+\.py\b"
    )

    assert len(named) > 30
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


@pytest.mark.parametrize("document", documents())
def test_every_link_leads_to_a_file(document):
    directory = (REPOSITORY / document).parent

    links = LINK.findall(read_text(document))

    assert [link for link in links if not (directory / link).exists()] == []


def test_the_architecture_links_every_decision():
    decisions = [path for path in documents() if path.startswith("docs/decisions/")]

    assert LINK.findall(section("ARCHITECTURE.md", "Decisions")) == decisions


def test_setup_cfg_and_the_changelog_have_the_version():
    setup = configparser.ConfigParser()
    setup.read_string(read_text("setup.cfg"))
    changelog = read_text("CHANGELOG.md")

    assert setup["metadata"]["version"] == VERSION
    assert re.findall(r"^## \[([^]]+)\]", changelog, re.MULTILINE)[0] == VERSION
    assert f"version {INTERFACE_VERSION}" in changelog


def test_the_readme_answers_as_shown_and_the_line_for_backups_copies_it(
    gunicorn_service, tmp_path
):
    service = gunicorn_service()
    ledger, backup = tmp_path / "deeds.db", tmp_path / "backup.sqlite3"
    assert_answers_as_shown(walk(service.url))
    [line] = re.findall(
        "^.*deeds backup.*$", read_text("docs/backups.md"), re.MULTILINE
    )
    assert "/elsewhere/deeds-monday.sqlite3" in line
    line = line.replace("/elsewhere/deeds-monday.sqlite3", str(backup))

    run_bash(line, DATABASE_URL=f"sqlite:///{ledger}")

    assert read_outputs(backup) == read_outputs(ledger)
    assert (
        sum(amount for *_, amount, spent_by in read_outputs(backup) if not spent_by)
        == 102
    )


def read_outputs(database):
    with closing(sqlite3.connect(database)) as connection:
        query = (
            "SELECT item_id, digest, amount, spent_by FROM outputs"
            " ORDER BY item_id, digest"
        )
        return connection.execute(query).fetchall()


def test_the_python_line_makes_strong_secrets():
    [block] = [
        text for text, _ in blocks_of(WALK, "bash") if text.startswith("python3 -c")
    ]

    made = {run_bash(block).strip() for _ in range(3)}

    assert len(made) == 3
    assert all(is_strong_secret(secret) for secret in made)
