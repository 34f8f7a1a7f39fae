"""The fenced blocks of the documents, and which parts of answers vary."""

import json
import re
import shlex
import sys

from tests.support.commanding import run_program
from tests.support.needs import require
from tests.support.serving import clean_environment
from tests.support.sources import read_text
from tests.support.strong_secrets import is_strong_secret

# docs/clients.md goes on where the README's walk ends.
WALK = ("README.md", "docs/clients.md")

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# What the first block defines does the same, in ten times the time: it loads the whole
# service.
SECRET = f"""secret() {{ {shlex.quote(sys.executable)} -c '
from tests.support.strong_secrets import make_strong_secret
print(make_strong_secret())'; }}"""

# Ids, times and, among all texts of their form, strong secrets.
_RANDOM = re.compile(
    r"(?:deed|offer)_[0-9a-hjkmnp-tv-z]{26}|\b[0-9a-hjkmnp-tv-z]{32}\b"
    r"|\d{4}-\d\d-\d\dT[\d:]{8}Z"
)


def blocks_of(documents, language):
    """Return the blocks of one language, each with the next block."""
    fences = [fence for path in documents for fence in FENCE.findall(read_text(path))]
    following = [*fences[1:], (None, None)]
    return [
        (text, after)
        for (found, text), after in zip(fences, following, strict=True)
        if found == language
    ]


def run_bash(script, **environment):
    """Run a script, which must say nothing on stderr, and return what it printed."""
    require("bash and curl")
    # Flask would give advice on stderr where a developer keeps a file .env.
    ours = {"FLASK_SKIP_DOTENV": "1", "no_proxy": "127.0.0.1"}
    flask = f"{shlex.quote(sys.executable)} -m flask "
    ran = run_program(
        *("bash", "-eu", "-o", "pipefail"),
        input=script.replace(".venv/bin/flask ", flask),
        env=clean_environment(ours | environment),
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def walk(url, curl="curl -s", **environment):
    """Run the bash blocks of the walk against a service and return what each prints."""
    # No answer holds the character between them.
    first, *others = (text + r"printf '\0'" for text, _ in blocks_of(WALK, "bash"))
    script = "\n".join([first, SECRET, *others])
    assert "http://127.0.0.1:8000" in script
    script = script.replace("http://127.0.0.1:8000", url).replace("curl -s", curl)
    return run_bash(script, **environment).split("\0")[:-1]


def assert_answers_as_shown(printed):
    """Assert that each block of the walk printed the answer below it."""
    shown = [after for _, after in blocks_of(WALK, "bash")]
    real = [
        (language, text) for (language, _), text in zip(shown, printed, strict=True)
    ]
    assert {language for language, _ in shown} == {"json", "text"}
    assert _comparable(real) == _comparable(shown)


def _comparable(answers):
    """Return answers so that they are equal for every run.

    Ids and secrets are numbered as they appear: the same one has the same number
    everywhere, and two different ones never do.
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
