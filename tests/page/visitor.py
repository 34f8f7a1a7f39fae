"""A person at a browser: what they see, and all that the browser did besides."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Route,
)

from tests.support.waiting import wait_until

# A twentieth of what counts as good (Cumulative Layout Shift, 0.1): once in some
# hundred visits a picture was painted a moment before it was in its place, and moved by
# 0.002.
SHIFT_MAX = 0.005

# What Playwright says where a test lets no service worker start.
NO_WORKER = "Service Worker registration blocked by Playwright"

AXE_SCRIPT = Axe().axe_script
FAULTS = """axe.run({resultTypes: ["violations"]}).then(({violations}) =>
  violations.flatMap(({id, nodes}) => nodes.map(({html}) => `${id}: ${html}`)))"""
# Runs in every page before its own scripts.
IN_BROWSER = Path(__file__).parent / "js" / "in_browser.js"
ALL_CAME = "[...document.images].every((image) => image.complete || image.hidden)"


# Without slots: Playwright keeps notes on an object whose methods it calls.
@dataclass
class Visitor:
    """A page in a profile, and what was heard of all pages of that profile."""

    context: BrowserContext
    page: Page
    origin: str
    errors: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Open a path of the service with its scripts and pictures, maybe broken."""
        self.page.goto(self.origin + path)
        # Asked again and again from here, which works without scripts of the page too.
        wait_until(lambda: self.page.evaluate(ALL_CAME))
        return self.page

    def open_tab(self, path: str) -> Page:
        """Open a path in a new tab, which is the visitor's page from now on."""
        self.page = self.context.new_page()
        return self.go(path)

    def forget(self) -> None:
        """Close all tabs but a new one, and clear the storage."""
        self.page = self.context.new_page()
        for other in self.context.pages:
            if other != self.page:
                other.close()
        self.clear_storage()

    def clear_storage(self) -> None:
        data = {"origin": self.origin, "storageTypes": "indexeddb"}
        self.context.new_cdp_session(self.page).send("Storage.clearDataForOrigin", data)

    def asked(self, path: str) -> list[Request]:
        """Return the requests whose address has this part."""
        return [each for each in self.requests if path in each.url]

    def swap_keys(self) -> list[str]:
        """Return the Idempotency-Key of every swap that any tab asked for."""
        return [each.headers["idempotency-key"] for each in self.asked("/v1/swap")]

    def foreign_requests(self) -> list[str]:
        """Return the addresses that were asked for and are not of the service."""
        ours = (f"{self.origin}/", f"blob:{self.origin}/", "data:")
        return [each.url for each in self.requests if not each.url.startswith(ours)]

    def watched(self, name: str) -> list[Any]:
        """Return the layout `shifts` or the policy's `violations` of the open page."""
        return self.page.evaluate("name => window.watched[name]", name)

    def assert_still(self) -> None:
        """Assert that nothing that could be seen has moved by itself."""
        shifts = self.watched("shifts")
        assert sum(shift["value"] for shift in shifts) < SHIFT_MAX, shifts

    def assert_good(self) -> None:
        """Assert that the page is accessible, fits the window, and did nothing that it
        should not.

        axe-core tells what keeps people out, each fault with the element that it is
        about.
        """
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        assert self.page.evaluate(FAULTS) == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert self.watched("violations") == []
        assert self.foreign_requests() == []
        assert self.errors == []


@contextmanager
def profile(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """Yield a fresh profile; `options` are those of Playwright's contexts."""
    # A worker that fetches all files would be among the requests of every test; and a
    # page that scrolls smoothly moves a button away while it is clicked.
    usual = {"service_workers": "block", "reduced_motion": "reduce"}
    with browser.new_context(**usual | options) as context:
        context.add_init_script(path=IN_BROWSER)
        yield context


@contextmanager
def visiting(context: BrowserContext, origin: str) -> Iterator[Visitor]:
    """Yield a visitor.

    Their profile keeps nothing afterwards but the files of the pages.
    """
    page = context.pages[0] if context.pages else context.new_page()
    visitor = Visitor(context, page, origin)

    def note_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and message.text != NO_WORKER:
            visitor.errors.append(message.text)

    def note_request(request: Request) -> None:
        visitor.requests.append(request)

    listeners: dict[Any, Callable[[Any], None]] = {
        "console": note_console,
        "weberror": lambda thrown: visitor.errors.append(str(thrown.error)),
        "request": note_request,
    }
    for event, listener in listeners.items():
        context.on(event, listener)
    try:
        yield visitor
    finally:
        for event, listener in listeners.items():
            context.remove_listener(event, listener)
        context.clear_permissions()
        context.set_offline(offline=False)
        visitor.forget()


def hold_back(page: Page, pattern: str) -> list[Route]:
    """Keep requests of a page from the service.

    Return the list that they are put into.
    """
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(pattern, hold)
    return held
