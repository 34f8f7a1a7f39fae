"""One answer in three never arrives: who keeps keys and secrets ends with every unit."""

from collections import Counter

import pytest

from tests.faults.load import Load, assert_nothing_lost, line_of
from tests.faults.lossy_proxy import lossy_proxy
from tests.faults.mortal_service import MortalService

REQUESTS_COUNT = 200


@pytest.fixture
def service(tmp_path, database_url):
    service = MortalService(tmp_path, database_url)
    service.start()
    yield service
    service.close()


def test_clients_whose_answers_are_lost_end_with_every_unit(service, database_url, seed, report):
    with lossy_proxy(service.find_port()) as proxy:
        load = Load([lambda: proxy.server_address[1]], seed)
        with load.running():
            load.wait_for_answers(REQUESTS_COUNT)

    counts = assert_nothing_lost(load, service.find_port, database_url)
    assert all(proxy.lost.values())
    assert units_of_clients(load) == units_minted(load)
    report(f"{line_of(counts)}, {line_of_losses(proxy.lost)}")


def units_of_clients(load):
    return sum(client.units() for client in load.clients)


def units_minted(load):
    minted = [entry for client in load.clients for entry in client.journal if not entry.inputs]
    return sum(entry.units() for entry in minted)


def line_of_losses(lost: Counter) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(lost.items()))
