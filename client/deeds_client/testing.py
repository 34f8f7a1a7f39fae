"""A pytest plugin: the fixture `deeds` is a service for the tests of your own code.

It starts the command in DEEDS_COMMAND, by default `deeds`, and never imports the
service. See docs/testing-against.md of the service.
"""

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from deeds_client.links import Sent, read_claims, read_offer
from deeds_client.records import Operation
from deeds_client.service import Deeds
from deeds_client.values import Offer, Output
from deeds_client.wallet import Wallet

_START_S_MAX = 30.0
_STOP_S_MAX = 5.0

_MISSING = (
    "there is no command {}: install it (pipx install, with the path of a checkout of"
    " the service), or name it in DEEDS_COMMAND"
)


@dataclass(frozen=True, slots=True)
class Minted(Sent):
    """A new item of one output."""

    @property
    def item_id(self) -> str:
        """The item id."""
        return self.output.item_id


class Server:
    """The process of `deeds dev`, and its clients. `with` stops it."""

    def __init__(self) -> None:
        command = _find_command()
        # It logs to this process's standard error, so pytest shows the log of a failed
        # test. With --watch-stdin it ends when its input does, however this process
        # ends.
        self._process = subprocess.Popen(  # noqa: S603  (what the user named)
            [*command, "dev", "--json", "--watch-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.url = self._read_url(shlex.join(command))
        # This machine is never reached through a proxy.
        self._http = httpx.Client(base_url=self.url, timeout=30, trust_env=False)
        self.client = Deeds(self.url, trust_env=False)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__()
        self._http.close()
        self._stop()

    def post(self, name: str, body: Mapping[str, Any]) -> Any:
        """Request a fault, a move of the clock or a reset; return the answer.

        Raise ValueError if the service refuses.
        """
        answer = self._http.post(f"/_dev/{name}", json=body)
        if answer.is_error:
            raise ValueError(answer.json()["detail"])
        return answer.json()

    def audit(self) -> None:
        """Fail the test if the ledger violates an invariant."""
        report = self._http.get("/_dev/audit").json()
        for sentence, places in report.get("violations", {}).items():
            pytest.fail(f"the ledger violates: {sentence}: {places}", pytrace=False)

    def _read_url(self, command: str) -> str:
        """Return the URL once the service is ready; otherwise stop it and fail."""
        stdout: Any = self._process.stdout
        is_ready, _, _ = select([stdout], [], [], _START_S_MAX)
        line = stdout.readline() if is_ready else b""
        with suppress(ValueError, LookupError, TypeError):
            return str(json.loads(line)["url"])
        self._stop()
        pytest.fail(f"{command} dev did not start; its log says why", pytrace=False)

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.communicate()


class Clock:
    """The clock of the service. It only moves forward, until the test ends."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def now(self) -> datetime:
        """Return the service's time in UTC."""
        return self.advance()

    def advance(self, **units: float) -> datetime:
        """Move the clock by arguments of `timedelta`, such as minutes=16.

        Parts of a second are rounded up. Return the new time.
        """
        seconds = math.ceil(timedelta(**units).total_seconds())
        return self._move(advance=seconds)

    def at(self, time: datetime | str) -> datetime:
        """Move the clock to a time with a zone, or in ISO 8601; return the new time."""
        return self._move(at=time if isinstance(time, str) else time.isoformat())

    def _move(self, **body: object) -> datetime:
        now = self._server.post("clock", body)["now"]
        return datetime.fromisoformat(now)


class Service:
    """A Deeds service for one test, at the address `url`."""

    def __init__(self, server: Server, directory: Path, closing: ExitStack) -> None:
        self.url = server.url
        self.clock = Clock(server)
        self._server = server
        self._directory = directory
        self._closing = closing
        self._wallets: dict[str, Wallet] = {}

    def mint(self, amount: int, **metadata: str) -> Minted:
        """Mint an item, with a `name`, a `description` and an `image` if given.

        Return its `item_id`, its one `output`, and the `link` that hands it over.
        """
        [output] = self._server.client.mint([amount], metadata=metadata)
        return Minted(output, self.url)

    def wallet(self, name: str) -> Wallet:
        """Return the wallet with this name, in a temporary file of this test."""
        if name not in self._wallets:
            path = self._directory / f"{quote(name, safe='')}.wallet"
            wallet = Wallet(path, self._server.client)
            self._wallets[name] = self._closing.enter_context(wallet)
        return self._wallets[name]

    @contextmanager
    def fail(
        self,
        kind: str,
        *,
        next: int = 1,  # noqa: A002  (as the service calls it)
        path: str | None = None,
        seconds: int | None = None,
    ) -> Iterator[None]:
        """Make the next requests in the block fail: "lost", "503", "429" or "slow".

        `next` is their number. `path` limits the fault to one path, such as /v1/swap or
        /v1/offers/{id}/complete. `seconds` is the delay of a slow answer. The test
        fails if no request met the fault.
        """
        fault = {"with": kind} | ({} if path is None else {"path": path})
        delay = {} if seconds is None else {"seconds": seconds}
        self._server.post("fail", fault | delay | {"next": next})
        try:
            yield
        finally:
            left = self._server.post("fail", fault | {"next": 0})["left"]
        if left == next:
            pytest.fail(f"no request met the fault {kind!r}")

    def state(self, what: Offer | Operation | Output | Sent | str) -> str:
        """Return the state of an offer or an output.

        An offer is "open", "completed", "void" or "expired"; an output is "unspent",
        "spent" or "unknown". A text is a link, the id of an offer, or a raw output.
        """
        client = self._server.client
        if isinstance(what, Sent):
            what = what.output
        elif isinstance(what, Operation):
            what = str(what.offer_id)
        elif isinstance(what, Offer):
            what = what.id
        if isinstance(what, str):
            if "offer_" in what and "deed_" not in what:
                return client.offer(read_offer(what, self.url)).state
            [what] = read_claims(what, self.url)
        [state] = client.check([what])
        return state

    def audit(self) -> None:
        """Fail the test if the ledger violates an invariant."""
        self._server.audit()


@pytest.fixture(scope="session")
def _deeds_server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def deeds(_deeds_server: Server) -> Iterator[Service]:
    """A Deeds service, empty for each test and audited after it."""
    try:
        with ExitStack() as closing:
            directory = closing.enter_context(TemporaryDirectory())
            yield Service(_deeds_server, Path(directory), closing)
        _deeds_server.audit()
    finally:
        _deeds_server.post("reset", {})


def _find_command() -> list[str]:
    """Return the words of the command; fail if it does not exist."""
    command = os.environ.get("DEEDS_COMMAND") or "deeds"  # noqa: TID251
    try:
        words = shlex.split(command)
    except ValueError:
        pytest.fail("DEEDS_COMMAND has a quote without an end", pytrace=False)
    # Programs installed next to this Python need not be on the PATH.
    places = [str(Path(sys.executable).parent), *os.get_exec_path()]
    program = shutil.which(words[0], path=os.pathsep.join(places))
    if program is None:
        pytest.fail(_MISSING.format(words[0]), pytrace=False)
    return [program, *words[1:]]
