"""What one process committed last, and whether the ledger still has it.

A failover to an outdated standby, or an older copy put in the ledger's place, takes
away the end of the operations: those that this process was acknowledged last are among
them. So they are looked for where they can be lost: on every new connection to
PostgreSQL before it is used, and once a second after writes.
"""

import atexit
import logging
import threading
from collections import deque

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from deeds.domain.errors import (
    LedgerRolledBackError,
    LedgerUnavailableError,
    RetryLaterError,
    StartError,
)
from storage.checkpoint import (
    ADVICE,
    NO_OPERATION,
    Checkpoint,
    CheckpointFile,
    MissingOperationError,
    check_present,
    raise_checkpoint,
)

_log = logging.getLogger("deeds")

_LOOK_EVERY_S = 1.0

# A few more than a process serves requests at once, and so more than it has connections
# to PostgreSQL: commits that overlap are acknowledged in any order, and the last one of
# the database is among these.
_REMEMBERED_COUNT = 40

# In `Connection.info`, which lasts as long as the connection to the server.
_LOOKED = "deeds_looked"


class LastOperations:
    """The operations that one process was acknowledged last. Any thread may use it.

    While one of them is missing, the process writes nothing. On PostgreSQL it looks
    again once a second over a fresh connection: the server that lacks one may not be
    the primary any more. On SQLite it does not, because what is at the path may be
    another file than the one that is open.
    """

    def __init__(self, engine: Engine, file: CheckpointFile | None) -> None:
        """Raise the file to where the ledger is; raise StartError as that does."""
        self._engine = engine
        self._file = file
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._remembered: deque[Checkpoint] = deque(maxlen=_REMEMBERED_COUNT)
        # What the file named last.
        self._reached = NO_OPERATION
        if file is not None:
            self._reached = raise_checkpoint(engine, file)
            self._remembered.append(self._reached)
        self._is_lost = False
        self._is_behind = False
        self._is_failing = False
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="last", daemon=True)
        self._thread.start()
        # A process that stops on request does not lose its last second.
        atexit.register(self.close)

    def note(self, committed: Checkpoint) -> None:
        """Remember an operation whose commit was acknowledged."""
        with self._lock:
            self._remembered.append(committed)
            self._is_behind = True

    def check_not_lost(self) -> None:
        """Raise `LedgerRolledBackError` while the ledger lacks one of them."""
        if self._is_lost:
            raise LedgerRolledBackError

    def look_if_new(self, connection: Connection) -> None:
        """Look for them once on each connection to PostgreSQL.

        Raises LedgerRolledBackError where one is missing. The next use of the
        connection makes a new one, perhaps to another server.
        """
        if self._is_sqlite or _LOOKED in connection.info:
            return
        try:
            check_present(connection, self._copy())
        except LedgerUnavailableError:
            # A standby may be read. It takes no writes.
            return
        except MissingOperationError as missing:
            self._report_lost(missing)
            connection.invalidate()
            connection.rollback()
            raise LedgerRolledBackError from None
        connection.info[_LOOKED] = True

    def close(self) -> None:
        """Raise the file if it is behind, and end the thread."""
        atexit.unregister(self.close)
        self._stop.set()
        self._thread.join()
        self._look()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        """Look for them, and raise the file; after a loss, look again."""
        if self._is_lost and self._is_sqlite:
            return
        if not self._is_lost and not self._is_behind:
            return
        # A connection may find a loss while this looks at another one: that stands.
        was_lost = self._is_lost
        self._is_behind = False
        try:
            self._raise_file(over_new_connection=was_lost)
            self._is_failing = False
            if was_lost:
                self._report_found()
        except MissingOperationError as missing:
            self._report_lost(missing)
        except (Exception, StartError) as error:  # noqa: BLE001 - the thread goes on
            self._is_behind = True
            self._report_failure(error)

    def _raise_file(self, *, over_new_connection: bool) -> None:
        with self._engine.connect() as connection:
            if over_new_connection:
                # Any that there is may lead to a server of the past.
                connection.invalidate()
            if self._file is None:
                check_present(connection, self._copy())
            else:
                self._reached = self._file.raise_to(connection, self._copy())

    def _copy(self) -> tuple[Checkpoint, ...]:
        with self._lock:
            return tuple(self._remembered)

    def _report_lost(self, missing: MissingOperationError) -> None:
        """Write no more, log why, and let the file tell a start; once."""
        with self._lock:
            if self._is_lost:
                return
            self._is_lost = True
        _log.error(
            "%s: this is an older copy, or a standby that lagged has taken over, and"
            " secrets spent since are live again. This process writes nothing while it"
            " is missing: %s; then restart all processes",
            missing,
            ADVICE,
            extra={"event": "ledger_rolled_back"},
        )
        if self._file is None:
            return
        try:
            self._file.name_missing(missing.checkpoint, self._reached)
        except OSError as error:
            self._report_failure(error)

    def _report_found(self) -> None:
        self._is_lost = False
        _log.warning(
            "no operation is missing any more: another server answers now, and this"
            " process writes again",
            extra={"event": "ledger_found"},
        )

    def _report_failure(self, error: BaseException) -> None:
        # If the ledger cannot be read just now, that has been logged.
        if self._is_failing or isinstance(error, RetryLaterError | SQLAlchemyError):
            return
        self._is_failing = True
        _log.warning(
            "cannot write the checkpoint file: until this succeeds, a restart may not"
            " detect that the ledger was replaced by an older copy",
            exc_info=error,
            extra={"event": "checkpoint_unwritten"},
        )
