"""Keeps what was found, so that a run that was broken off is taken up where it ended."""

import json
from collections import Counter

from tests.mutant_sources import MUTANTS


class Verdicts:
    """Which test failed with a mutant, kept as long as the mutant and, if none did, its tests."""

    def __init__(self, stage):
        self._file = MUTANTS / f"verdicts-{stage}.json"
        self._kept = json.loads(self._file.read_text()) if self._file.exists() else {}

    def knows(self, name, about, tests):
        kept = self._kept.get(name, {"about": None})
        return kept["about"] == about and (kept["failed"] or tests in {None, kept["tests"]})

    def has(self, name):
        return name in self._kept

    def put(self, name, about, tests, failed):
        self._kept[name] = {"about": about, "tests": tests, "failed": failed}
        self._file.write_text(json.dumps(self._kept, indent=0))

    def kills(self):
        return Counter(each["failed"] for each in self._kept.values())

    def failed(self, name):
        return self._kept[name]["failed"]
