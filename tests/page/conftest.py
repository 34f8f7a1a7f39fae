"""Fixtures of the tests in a browser, which share one browser and one service."""

import os
from functools import partial

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.page.camera import film
from tests.page.visitor import visiting
from tests.support.applications import HELD
from tests.support.needs import chromium_path, require
from tests.support.proxies import free_port
from tests.support.serving import running_service
from tests.support.waiting import WAIT_SECONDS_MAX

# Playwright's five seconds are too few on a busy machine.
expect.set_options(timeout=1000 * WAIT_SECONDS_MAX)

EMPTY_TABLE = [("", 0.5)]


@pytest.fixture
def database_url(sqlite_url):
    """The pages do not depend on the kind of database."""
    return sqlite_url


@pytest.fixture(scope="package")
def camera_path(tmp_path_factory):
    """The path of the camera's film: an empty table, unless a test writes another."""
    path = tmp_path_factory.mktemp("camera") / "film.y4m"
    film(path, EMPTY_TABLE)
    return path


@pytest.fixture
def film_path(camera_path):
    """The path of a film for one test; the next test gets the empty table again."""
    yield camera_path
    film(camera_path, EMPTY_TABLE)


# Playwright runs an event loop in this thread, in which no other test could run one, so
# it ends with this package.
@pytest.fixture(scope="package")
def browser(camera_path):
    """Debian's Chromium without a window; Playwright installs no browser."""
    require("Chromium")
    arguments = [
        # A name for this machine that browsers do not trust like localhost.
        "--host-resolver-rules=MAP deeds.test 127.0.0.1",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-video-capture={camera_path}",
    ]
    # Chromium cannot sandbox itself when root runs it, as in most containers.
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=chromium_path(), args=arguments
        ) as browser,
    ):
        yield browser


@pytest.fixture(scope="package")
def web_service(tmp_path_factory):
    """The whole service; it hashes ordinary secrets cheaply and takes short arrays."""
    with running_service(
        tmp_path_factory.mktemp("web"),
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_MAX_ARRAY="32",
        WEB_CONCURRENCY="1",
    ) as service:
        yield service


@pytest.fixture
def port():
    """The port of a service that is killed and started again at one address."""
    return free_port()


@pytest.fixture
def life(tmp_path, database_url, port):
    """Start a service, with more settings; the end of the block kills it."""
    return partial(
        running_service,
        tmp_path,
        application=HELD,
        DATABASE_URL=database_url,
        DEEDS_ARGON2="m=8,t=1,p=1",
        GUNICORN_CMD_ARGS=f"--bind 127.0.0.1:{port}",
        HOLD_FILE=str(tmp_path / "hold"),
        WEB_CONCURRENCY="1",
    )


@pytest.fixture(scope="package")
def phone(browser, web_service):
    """The browser profile of all visitors; a new one would load all files again."""
    with visiting(browser, web_service.url) as visitor:
        yield visitor


@pytest.fixture
def visitor(phone):
    """A person at a phone."""
    yield phone
    phone.forget()


@pytest.fixture(scope="package")
def other_phone(browser, web_service):
    with visiting(browser, web_service.url) as visitor:
        yield visitor


@pytest.fixture
def stranger(other_phone):
    """A person at another browser, with another profile."""
    yield other_phone
    other_phone.forget()
