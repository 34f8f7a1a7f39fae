"""Which tests reach what can be broken: functions that mutmut has mutated, and SQL statements."""

import hashlib
import json
from contextlib import contextmanager

from sqlalchemy import Engine, event

from storage import statements
from tests.mutant_sources import MUTANTS, broken_part
from tests.statement_mutants import PREFIX


@contextmanager
def noted_reach():
    """Yield a set to which all that can be broken and is reached within the block is added."""
    from mutmut.mutation import trampoline

    reached = set()
    names = {id(each): name for name, each in vars(statements).items()}

    def note(_connection, _cursor, text, _values, context, _several):
        construct = context.compiled.statement if context.compiled else None
        prepared = "SPEND_OUTPUT" if text.startswith("UPDATE") else "Writes"
        name = names.get(id(construct)) if construct is not None else prepared
        reached.add(f"{PREFIX}{name}")

    trampoline.record_trampoline_hit = lambda name, **_: reached.add(name)
    trampoline.set_mutant_under_test("stats")
    event.listen(Engine, "before_cursor_execute", note)
    yield reached


class Reach:
    """What each test reaches and how long it takes, kept until its file changes."""

    def __init__(self, stage, files):
        self._file = MUTANTS / f"reach-{stage}.json"
        # What is reached in a module is noted only where the module was mutated.
        modules = "\n".join(sorted(map(str, MUTANTS.rglob("*.py.meta")))).encode()
        self._digests = {file: digest([(MUTANTS / file).read_bytes(), modules]) for file in files}
        kept = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._kept = {test: each for test, each in kept.items() if self._is_new(test, each)}

    def _is_new(self, test, each):
        return each["file"] == self._digests.get(file_of(test))

    def put(self, test, seconds, reached):
        self._kept[test] = {
            "file": self._digests[file_of(test)],
            "seconds": seconds,
            "reached": sorted(reached),
        }

    def save(self):
        self._file.write_text(json.dumps(self._kept, indent=0))

    def knows(self, test):
        return test in self._kept

    def seconds(self, test):
        return self._kept[test]["seconds"]

    def reaches(self, test, mutant):
        return broken_part(mutant) in self._kept[test]["reached"]

    def digest(self, tests):
        """Return the digest of the tests: another one where they might fail now."""
        return digest(f"{test} {self._digests[file_of(test)]}".encode() for test in sorted(tests))


def file_of(test):
    return test.partition("::")[0]


def digest(parts):
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
