"""gunicorn's parser, which never waits. Used only by `deeds.server.gthread_worker`."""

from typing import Any

from gunicorn.config import Config
from gunicorn.http import RequestParser

from deeds.server.gthread_worker.endings import body_ending
from deeds.server.gthread_worker.received import Received
from deeds.server.gthread_worker.whole_body import WholeBodyReader


class BufferedParser(RequestParser):
    """Parses what a connection has received: first a head, then, once it is there, the body."""

    def __init__(self, cfg: Config, client: Any, body_bytes_max: int) -> None:
        """Take gunicorn's settings, the client's address and how large a body may be."""
        super().__init__(cfg, (), client)
        self.received = Received()
        self.unreader = self.received
        self._body_bytes_max = body_bytes_max
        self._request: Any = None  # Its head is parsed; its body is waited for.

    @property
    def is_waiting_for_body(self) -> bool:
        """Tell whether a head has been parsed that is not answered yet."""
        return self._request is not None

    @property
    def is_idle(self) -> bool:
        """Tell whether no byte of a next request has come."""
        return self._request is None and not self.received.data

    def read_request(self) -> Any:
        """Return a request of which enough has come, or none while its body has not.

        Raises:
            ParseException, StopIteration: gunicorn's: it is no HTTP, there is nothing.
        """
        if self._request is None:
            self.received.begin_head()
            self._request = next(self)
            self.received.end_head(body_ending(self._request, self._body_bytes_max))
            if not self.received.is_enough():
                return None
        request, self._request = self._request, None
        request.body.reader = WholeBodyReader(request.body.reader)
        return request

    def owes_continue(self) -> bool:
        """Return, once, whether the client sends the body only when it is asked to."""
        owes = bool(self._request._expected_100_continue)  # noqa: SLF001  (nothing else tells)
        self._request._expected_100_continue = False  # noqa: SLF001
        return owes

    def finish_request(self) -> bool:
        """Return whether the connection can carry another request: this one was read to its end."""
        parser: Any = self  # The stubs know no answer of it.
        try:
            is_whole = bool(parser.finish_body(max_bytes=_DRAINED_BYTES_MAX))
        except OSError:  # The rest of the body is malformed, and the answer is given.
            return False
        self.received.begin_request()
        return is_whole


# Of a body that the application did not want; more than that is not worth keeping a connection for.
_DRAINED_BYTES_MAX = 65_536
