"""The fenced blocks of the documents, and what of their answers differs from run to run."""

import json
import re
from dataclasses import dataclass

from deeds.domain.strong_secret import is_strong_secret
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
