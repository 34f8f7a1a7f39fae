"""What is known of the request being answered, for its line in the log and for metrics."""

from dataclasses import dataclass

from flask import g


@dataclass(slots=True)
class RequestNotes:
    """Noted by whoever comes to know it. Holds no secret and no path."""

    request_id: str
    started_s: float
    problem_code: str | None = None
    operation_id: int | None = None
    is_replayed: bool = False


def begin_notes(request_id: str, started_s: float) -> None:
    """Begin the notes of this request."""
    g.notes = RequestNotes(request_id, started_s)


def notes() -> RequestNotes:
    """Return the notes of this request."""
    found: RequestNotes = g.notes
    return found


def note_operation(operation_id: int, *, is_replayed: bool) -> None:
    """Note which operation of the ledger the answer is about."""
    noted = notes()
    noted.operation_id = operation_id
    noted.is_replayed = is_replayed
