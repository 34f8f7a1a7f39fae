"""Runs `deeds copy-to` in a process that kills itself at a moment of it.

Its arguments are one of MOMENTS and the URL of the target.
"""

import os
import signal
import sys

from tests.support.commanding import invoke
from tests.support.hooks import add_hook

# It commits the copy, the mark of the old file, and that the copy may be served.
MOMENTS = (
    "among the rows",
    "before commit 1",
    "after commit 1",
    "before commit 2",
    "after commit 2",
    "before commit 3",
    "after commit 3",
)


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def arm(moment):
    """Let this process die at the moment."""
    if moment == MOMENTS[0]:
        add_hook("before statement", lambda _, sql, __: "setval" in sql and die())
        return
    when, _, number = moment.partition(" commit ")
    commits = []

    def count(*_):
        commits.append(when)
        if len(commits) == int(number):
            die()

    add_hook(f"{when} commit", count)


if __name__ == "__main__":
    arm(sys.argv[1])
    settings = {"DATABASE_URL": os.environ["DATABASE_URL"]}
    sys.exit(invoke(settings, "copy-to", sys.argv[2]).output)
