"""The service, to which something happens at one moment of a commit.

The moment is written into a file just before the request that is to meet it. It is met once: the
file is gone then.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy.engine.default import DefaultDialect

from app import create_app

BEFORE_COMMIT = "before commit"
AFTER_COMMIT = "after commit"

_commit = DefaultDialect.do_commit


def create_app_at_commit(armed: Path, happen: Callable[[], object]) -> Flask:
    """Return the service with its commits wrapped: `happen` is called at the moment in the file."""

    def meet(moment: str) -> None:
        if armed.exists() and armed.read_text() == moment:
            armed.unlink()
            happen()

    def do_commit(dialect: DefaultDialect, connection: Any) -> None:
        meet(BEFORE_COMMIT)
        _commit(dialect, connection)
        meet(AFTER_COMMIT)

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]
    return create_app()
