"""Every problem that this service answers (RFC 9457), read from problems.toml."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files

MEDIA_TYPE = "application/problem+json"

_TABLE = files("deeds.blueprints") / "problems.toml"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem: its stable name, and what the page /problems says of it.

    It is final where the request can never be carried out, whenever it is sent again:
    a wallet may then give up what it has written down of it.
    """

    code: str
    status: int
    is_final: bool
    title: str
    meaning: str


PROBLEMS = {
    code: Problem(code, **members)
    for code, members in tomllib.loads(_TABLE.read_text(encoding="utf-8")).items()
}
