"""Runs the code blocks of the documents, and compares answers with those shown."""

import json
import re
import shlex
import sys

from tests.support.commanding import run_program
from tests.support.needs import require
from tests.support.serving import clean_environment
from tests.support.sources import read_text
from tests.support.strong_secrets import is_strong_secret

# docs/clients.md continues the README's walk.
WALK = ("README.md", "docs/clients.md")

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# Replaces the function of the first block, which takes ten times as long because it
# loads the whole service.
SECRET = f"""secret() {{ {shlex.quote(sys.executable)} -c '
from tests.support.strong_secrets import make_strong_secret
print(make_strong_secret())'; }}"""

# Matches ids, times and strong secrets, and other texts in the form of a strong secret.
_RANDOM = re.compile(
    r"(?:deed|offer)_[0-9a-hjkmnp-tv-z]{26}|\b[0-9a-hjkmnp-tv-z]{32}\b"
    r"|\d{4}-\d\d-\d\dT[\d:]{8}Z"
)


def blocks_of(documents, language):
    """Return the blocks of one language, each with the block that follows it."""
    fences = [fence for path in documents for fence in FENCE.findall(read_text(path))]
    following = [*fences[1:], (None, None)]
    return [
        (text, after)
        for (found, text), after in zip(fences, following, strict=True)
        if found == language
    ]


def run_bash(script, **environment):
    """Run a script, which must not write to stderr, and return its output."""
    require("bash and curl")
    # Not in the path of this Python, which SECRET contains.
    relative = re.compile(r"(?<!/)\.venv/bin/python")
    ran = run_program(
        *("bash", "-eu", "-o", "pipefail"),
        input=relative.sub(shlex.quote(sys.executable), script),
        env=clean_environment({"no_proxy": "127.0.0.1"} | environment),
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def walk(url, curl="curl -s", **environment):
    """Run the bash blocks of the walk against a service and return their outputs."""
    # The outputs are separated by NUL, which no answer contains.
    first, *others = (text + r"printf '\0'" for text, _ in blocks_of(WALK, "bash"))
    script = "\n".join([first, SECRET, *others])
    assert "http://127.0.0.1:8000" in script
    script = script.replace("http://127.0.0.1:8000", url).replace("curl -s", curl)
    return run_bash(script, **environment).split("\0")[:-1]


def assert_answers_as_shown(printed):
    """Assert that each block of the walk printed the answer that is shown below it."""
    shown = [after for _, after in blocks_of(WALK, "bash")]
    real = [
        (language, text) for (language, _), text in zip(shown, printed, strict=True)
    ]
    assert {language for language, _ in shown} == {"json", "text"}
    assert _comparable(real) == _comparable(shown)


def _comparable(answers):
    """Return answers in a form that is the same in every run.

    Ids, secrets and times are numbered in the order in which they appear; equal ones
    have the same number.
    """
    numbers = {}

    def number(match):
        found = match[0]
        if found.isalnum() and not is_strong_secret(found):
            return found
        return numbers.setdefault(found, f"<{len(numbers)}>")

    numbered = [(language, _RANDOM.sub(number, text)) for language, text in answers]
    return [
        json.loads(text) if language == "json" else text.strip().splitlines()
        for language, text in numbered
    ]
