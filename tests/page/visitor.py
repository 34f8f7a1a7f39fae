"""A person at a browser: their page, and a record of what the browser did."""

import json
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, Request

from tests.support.api import Api
from tests.support.needs import chromium_path
from tests.support.waiting import POLL_SECONDS, wait_until

# A twentieth of what counts as good (Cumulative Layout Shift, 0.1): once in some
# hundred visits a picture was painted a moment before it was in its place, and moved by
# 0.002.
SHIFT_MAX = 0.005

PHONE = {"width": 360, "height": 740}

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
    """A page in a profile, and what all pages of that profile reported.

    `api` sends the requests of somebody else to the same service.
    """

    context: BrowserContext
    page: Page
    origin: str
    api: Api
    errors: list[str] = field(default_factory=list)
    taps: int = 0
    requests: list[Request] = field(default_factory=list)

    def go(self, path):
        """Open a path of the service with its scripts and pictures, maybe broken."""
        self.page.goto(self.origin + path)
        wait_for_true(self.page, ALL_CAME)
        return self.page

    def open_tab(self, path, script=""):
        """Open a path in a new tab, which is the visitor's page from now on.

        The script runs there before those of each page.
        """
        self.page = self.context.new_page()
        self.page.add_init_script(script)
        return self.go(path)

    def go_offline(self):
        self.context.set_offline(offline=True)

    def go_online(self):
        self.context.set_offline(offline=False)

    def forget(self):
        """Close all tabs but one; delete everything except cached files.

        A tab stays, because to start its process again costs most of a visit.
        """
        self.page, *others = self.context.pages or [self.context.new_page()]
        for other in others:
            other.close()
        self.go_online()
        self.context.clear_permissions()
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.emulate_media(color_scheme="null", forced_colors="null")
        self.page.set_viewport_size(PHONE)
        self.page.goto(f"{self.origin}/healthz")
        self.page.evaluate("[sessionStorage, localStorage].map((each) => each.clear())")
        self.clear_storage()
        self.errors.clear()
        self.requests.clear()
        self.taps = 0

    def clear_storage(self):
        data = {"origin": self.origin, "storageTypes": "indexeddb"}
        self.context.new_cdp_session(self.page).send("Storage.clearDataForOrigin", data)

    def asked(self, path):
        """Return the requests whose address has this part."""
        return [each for each in self.requests if path in each.url]

    def foreign_requests(self):
        """Return the addresses of requests to other servers."""
        ours = (f"{self.origin}/", f"blob:{self.origin}/", "data:")
        return [each.url for each in self.requests if not each.url.startswith(ours)]

    def note_console(self, message):
        if message.type in ("error", "warning") and message.text != NO_WORKER:
            self.errors.append(message.text)

    def note_tap(self, _source):
        self.taps += 1

    def note_request(self, request):
        self.requests.append(request)

    def assert_taps(self, count):
        """Assert how often the person has tapped, since it was last set to 0."""
        # Taps are reported before the answer to this.
        self.page.evaluate("true")
        assert self.taps == count

    def assert_still(self):
        """Assert that nothing visible has moved by itself."""
        shifts = self.page.evaluate("watched.shifts")
        assert sum(shift["value"] for shift in shifts) < SHIFT_MAX, shifts

    def assert_good(self):
        """Assert that the page is accessible, fits the window, and did nothing that it
        should not.

        axe-core lists obstacles for people, each with its element.
        """
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        faults = self.page.evaluate(FAULTS)
        if faults:
            # A colour may be on its way to another one, as on Swagger UI's buttons.
            self.page.wait_for_function(
                "document.getAnimations().every(each => each.playState !== 'running')"
            )
            faults = self.page.evaluate(FAULTS)
        assert faults == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert self.page.evaluate("watched.violations") == []
        assert self.foreign_requests() == []
        assert self.errors == []


@contextmanager
def visiting(browser, origin, **options):
    """Yield a visitor with a fresh profile; `options` are those of Playwright's."""
    # A worker that fetches all files would be among the requests of every test; and a
    # page that scrolls smoothly moves a button away while it is clicked.
    usual = {"service_workers": "block", "reduced_motion": "reduce", "viewport": PHONE}
    with (
        browser.new_context(**usual | options) as context,
        closing(Api.of_url(origin)) as api,
    ):
        context.add_init_script(path=IN_BROWSER)
        visitor = Visitor(context, context.new_page(), origin, api)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.expose_binding("noteTap", visitor.note_tap)
        context.on("console", visitor.note_console)
        context.on("request", visitor.note_request)
        context.on("weberror", lambda thrown: visitor.errors.append(str(thrown.error)))
        yield visitor


def make_profile(path, preferences):
    """Make a directory that Chromium accepts as a profile; return its path."""
    (path / "Default").mkdir(parents=True)
    (path / "Default/Preferences").write_text(json.dumps(preferences))
    return path


@contextmanager
def using(browser, profile, origin):
    """Yield a visitor with a profile that stays when the block has closed it."""
    launch = browser.browser_type.launch_persistent_context
    with (
        launch(
            profile,
            executable_path=chromium_path(),
            args=["--no-sandbox"],
            service_workers="block",
        ) as context,
        closing(Api.of_url(origin)) as api,
    ):
        context.expose_binding("noteTap", lambda _: None)
        context.add_init_script(path=IN_BROWSER)
        yield Visitor(context, context.pages[0], origin, api)


def wait_for_true(page, expression):
    """Wait until an expression is true in a page.

    It is evaluated from here, which works in pages without scripts, too.
    """
    wait_until(lambda: page.evaluate(expression))


def cut_off(page, pattern):
    """Let requests of a page fail as without a network."""
    page.route(pattern, lambda route: route.abort())


def answer(page, pattern, **given):
    """Answer requests of a page in place of the service."""
    page.route(pattern, lambda route: route.fulfill(**given))


def hold_back(page, pattern):
    """Keep requests of a page from the service; return the list that they come to."""
    held = []
    # Playwright keeps notes on a handler, which a method of a list has no room for.
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108
    return held


def first_held(page, held):
    """Return the first request that is kept back, once it has come.

    Playwright tells of a request before it calls the handler of its route.
    """
    wait_until(lambda: held or page.wait_for_timeout(POLL_SECONDS * 1000))
    return held[0]
