"""The benchmark counts what really happened, and the ledgers that it makes big are sound ones."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine

from bench.load import Load, LoadGenerator
from bench.minting import mint_item
from bench.payload import Deed, Mints, Repeated, Requests, SecretKind, SwapChain, get
from bench.preload import preload, settle
from storage.engine import make_engine, parse_database_url
from tests.support.http_stub import StubServer, running_stub
from tests.support.ledger_view import LedgerView
from tests.support.serving import Service

# Every load here ends when its requests are answered; this only bounds a failure.
SECONDS_MAX = 30.0


@pytest.fixture(scope="module")
def load() -> Iterator[LoadGenerator]:
    with LoadGenerator() as generator:
        yield generator


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with running_stub() as server:
        yield server


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = make_engine(parse_database_url(database_url))
    yield engine
    engine.dispose()


def send(load: LoadGenerator, port: int, *requests: Requests) -> Load:
    load.prepare(port, requests)
    return load.run(SECONDS_MAX)


def test_each_request_is_sent_once_and_counted_once(load: LoadGenerator, stub: StubServer) -> None:
    # More clients than one process drives, each with requests of its own.
    clients_count, count = 20, 15
    requests = [Repeated((get(f"/{client}/200"),), count) for client in range(clients_count)]

    done = send(load, stub.server_port, *requests)

    assert sorted(stub.paths) == sorted(
        f"/{client}/200" for client in range(clients_count) for _ in range(count)
    )
    assert done.statuses == {200: clients_count * count}
    assert done.ok_count == len(done.latencies_s) == clients_count * count
    assert (done.refused, done.connection_errors_count) == ({}, 0)
    assert done.ran_out_count == clients_count


def test_refusals_are_counted_by_status_and_apart_from_answers(
    load: LoadGenerator, stub: StubServer
) -> None:
    paths = ("/200", "/400", "/404", "/400", "/500")

    done = send(load, stub.server_port, Repeated(tuple(map(get, paths)), 2 * len(paths)))

    assert stub.paths == [*paths, *paths]
    assert done.ok_count == len(done.latencies_s) == 2
    assert done.refused == {400: 4, 404: 2, 500: 2}


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_that_is_to_be_tried_again_is_sent_and_counted_again(
    load: LoadGenerator, stub: StubServer, status: int
) -> None:
    paths = (f"/once/{status}", "/200")

    done = send(load, stub.server_port, Repeated(tuple(map(get, paths)), 2))

    assert stub.paths == [f"/once/{status}", *paths]
    assert done.statuses == {status: 1, 200: 2}


def test_a_broken_connection_is_counted_and_its_request_sent_on_a_new_one(
    load: LoadGenerator, stub: StubServer
) -> None:
    paths = ("/200", "/once/break", "/200")

    done = send(load, stub.server_port, Repeated(tuple(map(get, paths)), 3))

    assert stub.paths == ["/200", "/once/break", "/once/break", "/200"]
    assert done.statuses == {200: 3}
    assert done.connection_errors_count == 1


def test_a_server_that_is_gone_is_given_up(load: LoadGenerator) -> None:
    with running_stub() as server:
        port = server.server_port

    done = send(load, port, Repeated((get("/200"),), 5))

    assert done.statuses == {}
    assert done.connection_errors_count > 0


@pytest.mark.parametrize("path", ["/close", "/pieces"])
def test_an_answer_that_closes_or_comes_in_pieces_is_no_error(
    load: LoadGenerator, stub: StubServer, path: str
) -> None:
    done = send(load, stub.server_port, Repeated((get(path),), 4))

    assert stub.paths == [path] * 4
    assert done.statuses == {200: 4}
    assert done.connection_errors_count == 0


def test_refusals_of_the_warm_up_are_not_hidden(load: LoadGenerator, stub: StubServer) -> None:
    requests = Repeated((get("/once/400"),), 1)

    load.prepare(stub.server_port, [requests], warm_up_seconds=SECONDS_MAX)
    done = load.run(SECONDS_MAX)

    assert stub.paths == ["/once/400"]
    assert done.statuses == {400: 1}


@pytest.mark.parametrize("kind", list(SecretKind))
def test_each_swap_of_a_chain_spends_what_the_one_before_created(
    load: LoadGenerator, gunicorn_service: Callable[..., Service], kind: SecretKind
) -> None:
    service = gunicorn_service(WEB_CONCURRENCY="1")
    deeds = mint_item(service.port, 3, kind)

    swaps = send(load, service.port, *(SwapChain(deed, kind, 4) for deed in deeds))
    again = send(load, service.port, SwapChain(deeds[0], kind, 1))
    mints = send(load, service.port, Mints(2, kind, 3))

    assert swaps.statuses == {200: 12}
    assert again.statuses == {400: 1}
    assert mints.statuses == {200: 3}


def test_a_preloaded_ledger_is_sound_and_its_deeds_can_be_swapped(
    load: LoadGenerator,
    gunicorn_service: Callable[..., Service],
    database_url: str,
    engine: Engine,
) -> None:
    service = gunicorn_service(DATABASE_URL=database_url, WEB_CONCURRENCY="1")
    deeds = mint_item(service.port, 3, SecretKind.STRONG)
    other = mint_item(service.port, 1, SecretKind.STRONG)[0]
    ledger = LedgerView(engine)

    preload(database_url, deeds[0].item_id, 1_000)
    settle(database_url)
    done = send(load, service.port, *map(chain_of_five, [*deeds, other]))

    ledger.assert_sound()
    assert done.statuses == {200: 20}
    assert ledger.operations()[:2] == [("mint", 0, 1_003), ("mint", 0, 1)]
    assert ledger.live(deeds[0].item_id) == [1] * 1_003
    assert ledger.spent(deeds[0].item_id) == [1] * 15


def chain_of_five(deed: Deed) -> SwapChain:
    return SwapChain(deed, SecretKind.STRONG, 5)
