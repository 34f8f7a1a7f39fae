"""Fixtures of the tests in a browser.

One browser and one service do for all of them.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.page.visitor import Visitor, profile, visiting
from tests.support.needs import chromium_path, require
from tests.support.serving import Service, running_service

# Outputs of one mint: fewer than by default, so that a form can have them all soon.
OUTPUTS_MAX = 32

# As long as `wait_until` waits: five seconds are too few on a busy machine.
expect.set_options(timeout=30_000)


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database will do here."""
    return sqlite_url


# Playwright runs an event loop in this thread for as long as it is there, in which no
# other test could run one: so it ends with this package.
@pytest.fixture(scope="package")
def launch() -> Iterator[Callable[..., Browser]]:
    """A function that starts Debian's Chromium, without a window, with more arguments
    if need be.

    Playwright brings no browser of its own here.
    """
    # Chromium cannot sandbox itself when root runs it, as in most containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # A name for this machine that browsers do not trust as they do localhost.
    arguments.append("--host-resolver-rules=MAP deeds.test 127.0.0.1")
    # A camera that shows a picture of its own making.
    arguments.append("--use-fake-device-for-media-stream")
    require("Chromium")
    with sync_playwright() as playwright:

        def start(*more: str) -> Browser:
            path = chromium_path()
            return playwright.chromium.launch(
                executable_path=path, args=[*arguments, *more]
            )

        yield start


@pytest.fixture(scope="package")
def browser(launch: Callable[..., Browser]) -> Iterator[Browser]:
    """The browser of all tests but those that need one of their own."""
    with launch() as browser:
        yield browser


@pytest.fixture(scope="package")
def web_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The whole service; it hashes ordinary secrets cheaply and takes short arrays."""
    with running_service(
        tmp_path_factory.mktemp("web"),
        DEEDS_ARGON2="m=8,t=1,p=1",
        DEEDS_MAX_ARRAY=str(OUTPUTS_MAX),
        WEB_CONCURRENCY="1",
    ) as service:
        yield service


@pytest.fixture
def visit(browser: Browser, web_service: Service) -> Iterator[Callable[..., Visitor]]:
    """A function that opens a browser profile of its own.

    `visit(java_script_enabled=False)`.
    """
    with ExitStack() as stack:

        def open_profile(**options: Any) -> Visitor:
            context = stack.enter_context(profile(browser, **options))
            return stack.enter_context(visiting(context, web_service.url))

        yield open_profile


@pytest.fixture(scope="package")
def phone(browser: Browser) -> Iterator[BrowserContext]:
    """The profile that one visitor after another uses.

    A fresh one would load all files again.
    """
    with profile(browser, viewport={"width": 360, "height": 740}) as context:
        yield context


@pytest.fixture
def visitor(phone: BrowserContext, web_service: Service) -> Iterator[Visitor]:
    """A person at a phone."""
    with visiting(phone, web_service.url) as visitor:
        yield visitor
