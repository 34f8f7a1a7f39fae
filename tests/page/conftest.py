"""Fixtures of the tests in a browser. One browser and one service do for all of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.page.browser import running_browser
from tests.page.samples import sample_pages
from tests.page.screenshots import SCREENSHOTS
from tests.page.visitor import Visitor, visiting
from tests.support.serving import Service, running_service


# Playwright runs an event loop in this thread for as long as it is there, in which no other test
# could run one: so it ends with this package.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def web_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The whole service."""
    with running_service(tmp_path_factory.mktemp("web"), WEB_CONCURRENCY="1") as service:
        yield service


@pytest.fixture(scope="package")
def pages(web_service: Service) -> dict[str, str]:
    """The path of each page by its name, with deeds to show."""
    return sample_pages(web_service.url)


@pytest.fixture
def visit(browser: Browser, web_service: Service) -> Iterator[Callable[..., Visitor]]:
    """A function that opens a browser profile of its own: `visit(color_scheme="dark")`."""
    with ExitStack() as stack:

        def open_profile(**options: Any) -> Visitor:
            return stack.enter_context(visiting(browser, web_service.url, **options))

        yield open_profile


@pytest.fixture
def visitor(visit: Callable[..., Visitor]) -> Visitor:
    """A person at a phone."""
    return visit(viewport={"width": 360, "height": 740})


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say where the pictures are."""
    if line := config.stash.get(SCREENSHOTS, ""):
        terminalreporter.section("page")
        terminalreporter.write_line(line)
