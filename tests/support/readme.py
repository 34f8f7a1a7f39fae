"""The fenced blocks of the documents, and what of their answers differs from run to run."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

from deeds.domain.raw_output import is_strong_secret
from tests.support.needs import require
from tests.support.serving import REPOSITORY

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# Item ids and, among all texts of their form, strong secrets.
_RANDOM = re.compile(r"deed_[0-9a-hjkmnp-tv-z]{26}|\b[0-9a-hjkmnp-tv-z]{32}\b")

_ANSWER_LANGUAGES = ("json", "text")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `answer` is the one that follows a bash block as its answer."""

    language: str
    text: str
    answer: "Block | None"


# docs/clients.md goes on where the README's walk ends.
WALK = ("README.md", "docs/clients.md")


def blocks_of(documents, language):
    """Return the blocks of one language, in order."""
    text = "\n".join((REPOSITORY / path).read_text(encoding="utf-8") for path in documents)
    return [block for block in _blocks(text) if block.language == language]


def _blocks(text):
    fences = [Block(match[1], match[2], None) for match in _FENCE.finditer(text)]
    for block, following in zip(fences, [*fences[1:], None], strict=True):
        answers = following is not None and following.language in _ANSWER_LANGUAGES
        yield Block(block.language, block.text, following if answers else None)


def make_comparable():
    """Return a function that makes an answer, of a language, equal for every run.

    It numbers the ids and secrets as they appear, over all the answers that it is given: the same
    secret has the same number everywhere, and two different ones never do.
    """
    numbers = {}

    def number(match):
        found = match[0]
        if not found.startswith("deed_") and not is_strong_secret(found):
            return found
        return numbers.setdefault(found, f"<{len(numbers)}>")

    def comparable(language, text):
        numbered = _RANDOM.sub(number, text)
        return json.loads(numbered) if language == "json" else numbered.strip().splitlines()

    return comparable


def run_bash(script, **environment):
    """Run a script, which must say nothing on stderr, and return what it printed."""
    require("bash and curl")
    # Flask would give advice on stderr where a developer keeps a file .env.
    ours = {"FLASK_SKIP_DOTENV": "1", "no_proxy": "127.0.0.1"}
    ran = subprocess.run(
        ["bash", "-eu", "-o", "pipefail"],
        input=script,
        cwd=REPOSITORY,
        env=os.environ | ours | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def walk(url, curl="curl -s", **environment):
    """Run the bash blocks of the walk against a service and return what each prints."""
    # No answer holds the character between them.
    script = "\n".join(block.text + r"printf '\0'" for block in blocks_of(WALK, "bash"))
    flask = f"{shlex.quote(sys.executable)} -m flask "
    for written, meant in (
        ("http://127.0.0.1:8000", url),
        (".venv/bin/flask ", flask),
        ("curl -s", curl),
    ):
        assert written in script
        script = script.replace(written, meant)
    return run_bash(script, **environment).split("\0")[:-1]


def assert_answers_as_shown(printed):
    """Assert that each block of the walk has an answer below it, and printed the same."""
    shown, real = make_comparable(), make_comparable()
    answers = [block.answer for block in blocks_of(WALK, "bash")]
    assert None not in answers
    assert [real(answer.language, text) for answer, text in zip(answers, printed, strict=True)] == [
        shown(answer.language, answer.text) for answer in answers
    ]
