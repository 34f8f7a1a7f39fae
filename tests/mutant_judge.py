"""Judges mutants: collects all tests once, then forks a process for each mutant to run them in.

Run in mutmut's copy of the sources. Reads the names of mutants, one a line, and says for each, in
JSON, which test failed; "" where none did. Only tests that reach what is broken are run.
"""

import gc
import json
import os
import sys
import tempfile
from itertools import accumulate, pairwise
from time import monotonic

import pytest

from tests.mutant_fork import forked
from tests.mutant_reach import Reach, digest, noted_reach
from tests.mutant_sources import module_of, sources_of
from tests.mutant_tests import FIRST
from tests.mutant_verdicts import Verdicts
from tests.statement_mutants import apply_statement_mutant

# How long a test may take, as a mutant may make it wait for ever: so many times what it takes
# without one, and more, because the machine may be busy.
SLOWER_AT_MOST = 4.0
SECONDS_MORE = 6.0

# What is sent when all tests have passed.
PASSED = ""


class Judge:
    """A plugin of pytest that runs tests once for each mutant."""

    def __init__(self, stage, names, out, *, seconds_max, seconds_each_max, believes):
        self.is_on_postgres = stage == "postgresql"
        self.stage = stage
        self.deadline_s = monotonic() + seconds_max
        self.seconds_each_max = seconds_each_max
        self.believes = believes
        self.names = names
        self.out = out
        self.failed = PASSED

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [
            item
            for item in items
            if needs_postgres(item) is self.is_on_postgres and not needs_processes(item)
        ]

    def pytest_runtestloop(self, session):
        # What fixtures make for the whole session is made once, before the forks.
        first, *_, last = session.items
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=last)
        self.fail_if(self.failed)
        self.reach = Reach(self.stage, {item.nodeid.partition("::")[0] for item in session.items})
        # What is there now is not looked at again, so the forks need no copies of it.
        gc.freeze()
        self.measure([item for item in session.items if not self.reach.knows(item.nodeid)])
        if all(self.reach.knows(item.nodeid) for item in session.items):
            self.judge_all(session)
        return True

    def judge_all(self, session):
        verdicts = Verdicts(self.stage)
        self.kills = verdicts.kills()
        # What survived before comes last.
        for name in sorted(self.names, key=verdicts.has):
            items = [item for item in session.items if self.reach.reaches(item.nodeid, name)]
            about = digest([*map(str.encode, sources_of(name))])
            tests = self.reach.digest([item.nodeid for item in items])
            if self.believes and verdicts.has(name):
                tests = None
            if not verdicts.knows(name, about, tests):
                if monotonic() > self.deadline_s:
                    continue
                failed = self.judge(self.choose(items, name), name)
                if failed:
                    self.kills[failed] += 1
                    # What fails without the mutant too, says nothing of it.
                    self.fail_if(self.judge([each for each in items if each.nodeid == failed], ""))
                verdicts.put(name, about, tests, failed)
            print(json.dumps([name, verdicts.failed(name)]), file=self.out, flush=True)

    def measure(self, items):
        """Run tests without a mutant and note what they reach."""
        with forked(self.send_reach, items) as receiver:
            for _ in items:
                if monotonic() > self.deadline_s:
                    break
                test, seconds, reached, failed = receiver.recv()
                self.fail_if(failed)
                self.reach.put(test, seconds, reached)
        self.reach.save()

    def send_reach(self, items, sender):
        with noted_reach() as reached:
            for item, nextitem in pairwise([*items, *items[:1]]):
                reached.clear()
                started_s = monotonic()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
                sender.send((item.nodeid, monotonic() - started_s, set(reached), self.failed))

    def fail_if(self, failed):
        if failed:
            raise pytest.UsageError(f"{failed} fails without a mutant")

    def choose(self, items, name):
        """Return as many of the tests as may be run, those first that are about what is broken."""
        first = FIRST.get(module_of(name), [])
        order = {
            item.nodeid: (
                item.path.stem.removeprefix("test_") not in first,
                -self.kills[item.nodeid],
                self.reach.seconds(item.nodeid),
            )
            for item in items
        }
        items = sorted(items, key=lambda item: order[item.nodeid])
        seconds = accumulate(self.reach.seconds(item.nodeid) for item in items)
        pairs = zip(items, seconds, strict=True)
        return [item for item, until in pairs if until <= self.seconds_each_max]

    def judge(self, items, name):
        """Return the test at which the mutant fails, dies or takes too long, or PASSED."""
        with forked(self.send_failure, items, name) as receiver:
            current = receiver.recv()
            while current != PASSED:
                seconds_max = SLOWER_AT_MOST * self.reach.seconds(current) + SECONDS_MORE
                try:
                    following = receiver.recv() if receiver.poll(seconds_max) else current
                except EOFError:
                    following = current
                if following == current:
                    break
                current = following
            return current

    def send_failure(self, items, name, sender):
        os.environ["MUTANT_UNDER_TEST"] = name
        apply_statement_mutant(name)
        for item, nextitem in pairwise([*items, *items[:1]]):
            sender.send(item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            if self.failed:
                break
        sender.send(self.failed)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = report.nodeid


def needs_postgres(item):
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return not {"postgres", "server"}.isdisjoint(item.fixturenames) or "postgresql" in parameters


def needs_processes(item):
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "gunicorn_service" in item.fixturenames or "three processes" in parameters


def main(stage, seconds_max, seconds_each_max, believes, *files):
    names = sys.stdin.read().splitlines()
    # Of our own: pytest takes the standard one away.
    judge = Judge(
        stage,
        names,
        os.fdopen(os.dup(1), "w"),
        seconds_max=float(seconds_max),
        seconds_each_max=float(seconds_each_max),
        believes=believes == "True",
    )
    options = ["-p", "no:cacheprovider", "-p", "no:terminal"]
    # Of our own too: pytest clears away what other runs of it leave in the common place.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        options += ["--basetemp", f"{directory}/tests"]
        return pytest.main([*options, *files], plugins=[judge])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
