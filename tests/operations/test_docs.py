"""The documents agree with the code, and their `bash` blocks run."""

import json
import re
from pathlib import Path

import pytest

from app import make_command
from deeds.blueprints.v1 import INTERFACE_VERSION, VERSION
from tests.support.commanding import invoke
from tests.support.problems import PROBLEMS
from tests.support.readme import (
    FENCE,
    WALK,
    assert_answers_as_shown,
    blocks_of,
    run_bash,
    walk,
)
from tests.support.serving import REPOSITORY
from tests.support.sources import (
    documents,
    found_in,
    read_setup,
    read_text,
    read_variables,
    replaced,
    section,
    sources,
    table_rows,
)
from tests.support.strong_secrets import is_strong_secret

# Variables of clients.
OF_CLIENTS = {"DEEDS_URL", "DEEDS_COMMAND"}

# A link or an image in Markdown: its path and its fragment. Links with a scheme lead to
# other sites.
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)#?([^)\s]*)\)")

DECISIONS = "docs/decisions/README.md"

# Decisions that are cited by number, as in "decisions 0001 and 0002" or in a path.
CITED_DECISIONS = re.compile(
    r"\bdecisions?[ ,/]+\d{4}\b(?:(?:,| and| to)+ \d{4}\b)*", re.IGNORECASE
)

# A cited section of the contract, or the first and last one. The contract once had
# `parts`, which must not be cited any more. A citation may continue on the next line.
CITED = re.compile(
    r"\bcontract,? (parts? \d|[\d.]*\d)(?: (?:to|and) ([\d.]*\d))?"
    r"|(parts? \d+) of the contract",
    re.IGNORECASE,
)
NEXT_LINE = re.compile(r"\s*\n\s*(?:#|//|\*)?\s*")


def named_in(paths, pattern):
    """Return the matches of a pattern in the files."""
    return {name for path in paths for name in found_in(path, pattern)}


def test_the_settings_page_and_the_example_list_every_setting_and_no_other():
    page, _, _ = read_text("docs/settings.md").partition("\n## ")

    listed = {row[0].strip("`") for row in table_rows(page)}
    in_example = named_in([".env.example"], r"^#? ?([A-Z][A-Z0-9_]*)=")

    assert listed == in_example == read_variables()


def test_the_documents_name_no_unknown_setting():
    ours = [path for path in documents() if not path.startswith("client/")]
    paths = [*ours, "Makefile", "gunicorn_conf.py", ".env.example"]

    named = named_in(paths, r"\bDEEDS_[A-Z0-9_]*[A-Z0-9]\b")

    assert named <= read_variables() | OF_CLIENTS


def test_the_table_of_problems_is_that_of_the_code():
    documented = list(table_rows(section("docs/problems.md", "Codes")))

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


def test_the_commands_page_lists_every_command_and_no_other():
    listed = {
        name
        for row in table_rows(read_text("docs/commands.md"))
        for name in re.findall(r"`([a-z-]+)`", row[0])
    }

    assert listed == set(make_command().commands)


def test_every_part_has_a_page_in_docs():
    pages = {
        row[0].strip("`"): [path for path, _ in LINK.findall(row[-1])]
        for row in table_rows(section("ARCHITECTURE.md", "The parts"))
    }
    parts = (REPOSITORY / "parts").glob("*/__init__.py")

    assert set(pages) == {path.parent.name for path in parts}
    assert all(path.startswith("docs/") for paths in pages.values() for path in paths)
    assert all(pages.values())


def test_the_documents_name_every_target_of_make_and_no_other():
    targets = named_in(["Makefile"], r"^([a-z-]+):.*## ")

    named = named_in(documents(), r"(?:`|^ *)make ([a-z-]+)")

    assert named == targets


def test_every_source_that_is_named_exists():
    named = named_in(
        documents(), r"\b(?:bench|deeds|schemas|storage|tests)/[\w/]+\.py\b"
    )

    missing = [path for path in named if not (REPOSITORY / path).exists()]

    assert len(named) > 30
    assert missing == []


@pytest.mark.parametrize("document", documents())
def test_every_link_leads_to_a_file_and_a_heading_in_it(document):
    page = Path(document)
    broken = []

    for path, fragment in LINK.findall(read_text(document)):
        target = page.parent / path if path else page
        if not (REPOSITORY / target).exists():
            broken.append(path)
            continue
        if not fragment:
            continue
        text = read_text(target)
        # Headings become fragments as on GitHub: `## Who is it?` becomes `-who-is-it`.
        lines = re.sub(r"[^\w\n -]", "", text.lower()).replace(" ", "-")
        if f"\n-{fragment}\n" not in lines:
            broken.append(f"{path}#{fragment}")

    assert broken == []


def test_every_section_of_the_contract_that_is_cited_exists():
    headings = found_in("docs/contract.md", r"^##+ (\d+(?:\.\d+)?)\b")
    cited = {
        (path, number)
        for path in sources()
        for match in CITED.finditer(NEXT_LINE.sub(" ", read_text(path)))
        for number in filter(None, match.groups())
    }

    missing = [each for each in cited if each[1] not in headings]

    assert len(cited) > 30
    assert missing == []


def test_the_contract_derives_secrets_as_the_vectors_say():
    page = section("docs/contract.md", "8. Secrets from a seed")
    [(_, code)] = FENCE.findall(page)
    [seed] = re.findall("`([0-9a-f]{64})`", page)
    [item_id] = re.findall("`(deed_[0-9a-z]{26})`", page)
    names, vectors = {}, json.loads(read_text("tests/support/wallet_vectors.json"))
    exec(code, names)  # noqa: S102
    rows = [[cell.strip("`") for cell in row] for row in table_rows(page)]

    examples = [row for row in rows if is_strong_secret(row[2])]
    secrets = [
        names["make_secret"](
            bytes.fromhex(each["seed"]), each["branch"], each["itemId"], each["number"]
        )
        for each in vectors
    ]

    assert secrets == [each["secret"] for each in vectors]
    assert len(examples) > 5
    for branch, number, secret in examples:
        assert secret == names["make_secret"](
            bytes.fromhex(seed), branch, item_id, int(number)
        )


def test_decisions_are_numbered_without_a_gap_and_every_one_that_is_cited_exists():
    headings = found_in(DECISIONS, r"^## (.*)$")
    cited = {
        (path, number)
        for path in sources()
        for citation in CITED_DECISIONS.findall(NEXT_LINE.sub(" ", read_text(path)))
        for number in re.findall(r"\d{4}", citation)
    }

    numbers = [heading.partition(" ")[0] for heading in headings]
    missing = [each for each in cited if each[1] not in numbers]

    assert numbers == [f"{number:04}" for number in range(1, len(headings) + 1)]
    assert len(cited) > 10
    assert missing == []


def test_every_file_beside_the_decisions_is_linked_from_them():
    folder = "docs/decisions/"
    others = {path for path in documents() if path.startswith(folder)} - {DECISIONS}

    linked = {folder + path for path, _ in LINK.findall(read_text(DECISIONS))}

    assert len(others) > 0
    assert others <= linked


def test_setup_cfg_and_the_changelog_have_the_version():
    setup = read_setup()
    changelog = read_text("CHANGELOG.md")

    [latest, *_] = found_in("CHANGELOG.md", r"^## \[([^]]+)\]")

    assert (setup["metadata"]["version"], latest) == (VERSION, VERSION)
    assert f"version {INTERFACE_VERSION}" in changelog


@pytest.mark.slow
def test_the_blocks_of_the_readme_and_of_clients_answer_as_shown(gunicorn_service):
    service = gunicorn_service()

    printed = walk(service.url)

    assert_answers_as_shown(printed)


def test_the_line_for_backups_makes_one_that_passes_the_audit(sqlite_url, tmp_path):
    [line] = named_in(["docs/backups.md"], "^.*app backup.*$")
    example, backup = "/elsewhere/deeds-monday.sqlite3", tmp_path / "backup.sqlite3"

    run_bash(replaced(line, {example: str(backup)}), DATABASE_URL=sqlite_url)

    audited = invoke({"DATABASE_URL": f"sqlite:///{backup}"}, "audit")
    assert audited.exit_code == 0, audited.output


def test_the_python_line_makes_strong_secrets():
    [block] = [
        text for text, _ in blocks_of(WALK, "bash") if text.startswith("python3 -c")
    ]

    assert is_strong_secret(run_bash(block).strip())


def test_every_command_that_a_document_or_a_file_runs_exists():
    files = (REPOSITORY / "deploy").rglob("*.*")
    paths = [str(path.relative_to(REPOSITORY)) for path in files]
    paths += [*documents(), "Makefile", "Procfile", "Dockerfile"]
    command = r"-m[ \",]+app[ \",]+(?:--env-file \S+[ \\\n]+)?([a-z][-a-z]+)"

    named = named_in(paths, command)

    assert named >= {"serve", "migrate", "backup", "restore", "audit", "secret"}
    assert named <= set(make_command().commands)
