"""The service on a disk that a test limits while it runs. gunicorn imports this.

The file that TEST_PRAGMAS names holds what SQLite executes on a connection before each use of it.
"""

import os
from pathlib import Path

from sqlalchemy import Engine, event

import app

APPLICATION = "tests.support.limited_disk:create_app()"

# No page more than there are.
FULL = "PRAGMA max_page_count = 1"
READ_ONLY = "PRAGMA query_only = ON"
ROOMY = "PRAGMA max_page_count = 1073741823; PRAGMA query_only = OFF"


def create_app():
    """Return the service, whose connections obey the file."""
    pragmas = Path(os.environ["TEST_PRAGMAS"])

    def execute(connection):
        for pragma in pragmas.read_text().split(";"):
            connection.connection.driver_connection.execute(pragma).fetchall()

    event.listen(Engine, "begin", execute)
    return app.create_app()
