"""What one process committed last, and whether the ledger still has it.

A failover to an outdated standby, or an older copy put in the ledger's place, takes
away the end of the operations: those that this process was acknowledged last are among
them. So they are looked for where they can be lost: on every new connection to
PostgreSQL before it is used, before a request is refused, and once a second after
writes.
"""

import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

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
)
from storage.driver import set_deadline

_log = logging.getLogger("deeds")

_LOOK_EVERY_S = 1.0
_LOOK_SECONDS_MAX = 2.0

# A PostgreSQL server that lacks one may be the primary of before: one that was frozen
# when another was promoted says so for some seconds after it thaws. Only if every look
# for so long meets such a server is the ledger called rolled back.
_DOUBT_SECONDS = 15.0

# A few more than a process serves requests at once, and so more than it has connections
# to PostgreSQL: commits that overlap are acknowledged in any order, and the last one of
# the database is among these.
_REMEMBERED_COUNT = 40

# A StartError is of a new connection, to a database that cannot hold the ledger.
_DATABASE_AWAY = (RetryLaterError, SQLAlchemyError, BlockingIOError, StartError)

# In `Connection.info`, which lasts as long as the connection to the server: how many
# doubts there had been when its server had all of them.
_LOOKED = "deeds_looked"


class LastOperations:
    """The operations that one process was acknowledged last. Any thread may use it.

    A PostgreSQL server that lacks one of them is not used, and the process looks again
    once a second over a fresh connection. Where they stay missing, it writes nothing
    until they are found. On SQLite that is so at once and for good, because what is at
    the path may be another file than the one that is open.
    """

    def __init__(
        self,
        engine: Engine,
        file: CheckpointFile | None = None,
        reached: Checkpoint = NO_OPERATION,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        """Begin with the operation that the file has reached.

        `on_retry` is called with "checkpoint" each time the file cannot be written.
        """
        self._engine = engine
        self._file = file
        self._on_retry = on_retry
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._remembered: deque[Checkpoint] = deque(maxlen=_REMEMBERED_COUNT)
        # Apart, or repetitions of an old request would push out what was made last.
        self._answered_again: deque[Checkpoint] = deque(maxlen=_REMEMBERED_COUNT)
        # What the file named last.
        self._reached = reached
        self._remembered.append(reached)
        self._is_lost = False
        # Since when one has been missing, by `monotonic()`.
        self._doubted_at_s: float | None = None
        self._doubts_count = 0
        self._is_behind = False
        self._is_failing = False
        self._lock = threading.Lock()
        self._stop = threading.Event()
        # Started by the first operation or doubt: none would survive a fork.
        self._thread: threading.Thread | None = None

    def note(self, committed: Checkpoint) -> None:
        """Remember an operation whose commit was acknowledged."""
        with self._lock:
            self._remembered.append(committed)
            self._is_behind = True
            self._start_looking()

    def note_again(self, confirmed: Checkpoint) -> None:
        """Remember an operation that a repeated request was answered with."""
        with self._lock:
            self._answered_again.append(confirmed)

    def check_not_lost(self) -> None:
        """Raise `LedgerRolledBackError` while the ledger lacks one of them."""
        if self._is_lost:
            raise LedgerRolledBackError

    def look_if_new(self, connection: Connection) -> None:
        """Look for them on a connection once, and once more after each doubt."""
        doubts_count = self._doubts_count
        if connection.info.get(_LOOKED) != doubts_count:
            self.look(connection)
            connection.info[_LOOKED] = doubts_count
            self._put_off_verdict()

    def look(self, connection: Connection) -> None:
        """Look for them on a connection to PostgreSQL.

        Raises LedgerUnavailableError where one is missing, or LedgerRolledBackError
        once that is sure. The next use of the connection makes a new one, perhaps to
        another server.
        """
        if self._is_sqlite:
            return
        try:
            check_present(connection, self._copy())
        except MissingOperationError as missing:
            self._doubt(missing)
            connection.invalidate()
            connection.rollback()
            self.check_not_lost()
            raise LedgerUnavailableError from None

    def close(self) -> None:
        """Raise the file if it is behind, and end the thread."""
        atexit.unregister(self.close)
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._look()

    def _start_looking(self) -> None:
        """Start the thread of this process, unless it runs. Called under the lock."""
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._run, name="last", daemon=True)
        # Where no thread can be started now, the next operation tries again.
        with suppress(RuntimeError):
            thread.start()
            self._thread = thread
            # A process that stops on request does not lose its last second.
            atexit.register(self.close)

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        """Look for them, and raise the file; after a doubt, look again."""
        if self._is_lost and self._is_sqlite:
            return
        doubts_count, doubted_at_s = self._doubts_count, self._doubted_at_s
        if doubted_at_s is None and not self._is_behind:
            return
        self._is_behind = False
        try:
            self._raise_file(over_new_connection=doubted_at_s is not None)
            self._is_failing = False
            # Another connection may have met a doubt meanwhile: that stands.
            if doubted_at_s is not None and doubts_count == self._doubts_count:
                self._report_found()
        except MissingOperationError as missing:
            since_s = self._doubt(missing)
            if self._is_sqlite or monotonic() - since_s >= _DOUBT_SECONDS:
                self._report_lost(missing)
        except Exception as error:  # noqa: BLE001 - the thread goes on
            self._put_off_verdict()
            self._is_behind = True
            self._report_failure(error)

    def _raise_file(self, *, over_new_connection: bool) -> None:
        with self._engine.connect() as connection:
            if over_new_connection:
                # Any that there is may lead to a server of the past.
                connection.invalidate()
            set_deadline(connection, monotonic() + _LOOK_SECONDS_MAX)
            if self._file is None:
                check_present(connection, self._copy())
            else:
                self._reached = self._file.raise_to(connection, self._copy())

    def _copy(self) -> tuple[Checkpoint, ...]:
        with self._lock:
            return (*self._remembered, *self._answered_again)

    def _doubt(self, missing: MissingOperationError) -> float:
        """Look again on every connection; return since when one has been missing."""
        with self._lock:
            self._doubts_count += 1
            since_s = self._doubted_at_s
            if since_s is not None:
                return since_s
            self._doubted_at_s = monotonic()
            self._start_looking()
        if not self._is_sqlite:
            _log.warning(
                "%s of the server that answered: it is not used, because another one"
                " may be the primary now",
                missing,
                extra={"event": "ledger_doubted"},
            )
        return self._doubted_at_s

    def _put_off_verdict(self) -> None:
        """Count the time of a doubt from now on."""
        with self._lock:
            if self._doubted_at_s is not None:
                self._doubted_at_s = monotonic()

    def _report_lost(self, missing: MissingOperationError) -> None:
        """Write no more, log why, and let the file tell a start; once."""
        if self._is_lost:
            return
        self._is_lost = True
        _log.error(
            "%s: this is an older copy, or a standby that lagged has taken over, and"
            " secrets spent since are live again. This process writes nothing while it"
            " is missing. If another server is the primary now, this is a false alarm:"
            " once the process reaches that one, it goes on by itself. Otherwise see"
            " that the present primary is sound (flask --app app deeds audit); then %s;"
            " then restart all processes",
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
        self._doubted_at_s = None
        _log.warning(
            "no operation is missing any more: another server answers now",
            extra={"event": "ledger_found"},
        )

    def _report_failure(self, error: BaseException) -> None:
        # If the ledger cannot be read just now, that has been logged; a process that
        # waits for it holds the lock of the file.
        if isinstance(error, _DATABASE_AWAY):
            return
        if self._on_retry is not None:
            self._on_retry("checkpoint")
        if self._is_failing:
            return
        self._is_failing = True
        _log.warning(
            "cannot write the checkpoint file: until this succeeds, a restart may not"
            " detect that the ledger was replaced by an older copy",
            exc_info=error,
            extra={"event": "checkpoint_unwritten"},
        )
