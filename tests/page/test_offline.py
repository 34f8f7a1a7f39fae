"""Pages without a network: what is kept in the browser, and that releases never mix."""

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from deeds.page.static_files import read_static_files
from tests.page.steps import hold, raws
from tests.page.visitor import Visitor, profile, visiting
from tests.support.serving import Service
from tests.support.waiting import wait_until

OURS = read_static_files().version
NEXT = "0123456789abcdef"
PATHS = ["/", "/mint", "/claim", "/offer", "/wallet", "/door"]

READY = "navigator.serviceWorker.ready.then(() => true)"
WAITING = "navigator.serviceWorker.getRegistration().then((found) => !!found.waiting)"
# The browser may have begun to look for an update by itself.
UPDATE = """navigator.serviceWorker.getRegistration().then(
  (found) => new Promise((resolve) => {
  const follow = (worker) => {
    if (worker?.state === "installed") resolve(worker.state);
    worker?.addEventListener("statechange", () => resolve(worker.state));
  };
  found.addEventListener("updatefound", () => follow(found.installing));
  follow(found.waiting ?? found.installing);
  found.update();
  setTimeout(resolve, 20_000, "none");
}))"""
KEPT = """async () => {
  const kept = {};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      kept[request.url] = await (await cache.match(request)).text();
    }
  }
  return kept;
}"""
LOADED = """() => [...new Set(performance.getEntriesByType("resource")
  .map(({ name }) => name.match(/\\/web\\/([0-9a-f]{16})\\//)?.[1]).filter(Boolean))]"""


@dataclass
class Front:
    """What stands before the service.

    It may be away, or at another release than the service is.
    """

    origin: str = ""
    is_away: bool = False
    # The release of its worker and files, and that of its pages.
    worker: str = OURS
    pages: str = OURS

    def release(self, path: str) -> str:
        return self.pages if path in PATHS else self.worker

    def path(self, asked: str) -> str:
        """Return what to ask the service for: it has the files of one release."""
        name = asked.removeprefix(f"/web/{self.worker}/")
        if name != asked:
            return f"/web/{OURS}/{name}"
        return "/nothing" if asked.startswith(("/web/0", f"/web/{OURS}")) else asked


@pytest.fixture
def front(web_service: Service) -> Iterator[Front]:
    front = Front()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            if front.is_away:
                self.close_connection = True
                return
            release = front.release(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {"Content-Type": "application/json", "Host": self.headers["Host"]}
            # Closed before the answer is sent: a browser that left the page may not
            # take it.
            service = http.client.HTTPConnection("127.0.0.1", web_service.port)
            with contextlib.closing(service):
                service.request(self.command, front.path(self.path), body, headers)
                found = service.getresponse()
                content = found.read().replace(OURS.encode(), release.encode())
            content = re.sub(rb'(?<={"name": ")[0-9a-f]+', release.encode(), content)
            self.send_response(found.status)
            for name, value in found.getheaders():
                if name.lower() not in {
                    "content-length",
                    "connection",
                    "etag",
                    "date",
                    "server",
                }:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = answer  # noqa: N815 - as the library wants them to be called

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        front.origin = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield front
        server.shutdown()


@pytest.fixture
def holder(browser: Browser, front: Front) -> Iterator[Visitor]:
    """A visitor whose browser keeps the pages, and who has a ticket."""
    with (
        profile(browser, service_workers="allow") as context,
        visiting(context, front.origin) as visitor,
    ):
        page, _item = hold(visitor, 1, metadata={"name": "A ticket"})
        assert page.evaluate(READY)
        yield visitor


def loaded_releases(page: Page) -> list[str]:
    return page.evaluate(LOADED)


def test_without_a_network_what_is_held_is_shown_and_nothing_with_a_secret_was_kept(
    holder: Visitor, front: Front
) -> None:
    page = holder.page
    [raw] = raws(page, "held")
    item_id, secret = raw.split(".")[1:]
    page.goto(f"{front.origin}/claim/{item_id}#+1.{secret}")
    page.goto(f"{front.origin}/item/{item_id}")
    page.evaluate("text => fetch('/web/qr', {method: 'POST', body: text})", secret)
    front.is_away = True

    page.goto(f"{front.origin}/wallet")

    expect(page.get_by_text("A ticket").first).to_be_visible()
    for path in ["/", "/mint", f"/claim/{item_id}#+1.{secret}", "/door", "/wallet"]:
        page.goto(front.origin + path)
        expect(page.locator("h1").first).to_be_visible()
        name = page.locator("body").get_attribute("data-page")
        assert name == (path.split("/")[1] or "landing")
        assert holder.watched("violations") == []
    kept = page.evaluate(KEPT)
    names = [
        name for name in read_static_files().by_name if name.startswith(("css/", "js/"))
    ]
    files = [f"/web/{OURS}/{name}" for name in ["icon.svg", *names]]
    assert kept.keys() == {front.origin + each for each in [*PATHS, *files]}
    said = [text for text in kept.values() if secret in text or item_id in text]
    assert said == []


def test_a_browser_can_install_the_pages(holder: Visitor, front: Front) -> None:
    session = holder.context.new_cdp_session(holder.page)

    manifest = session.send("Page.getAppManifest")
    faults = session.send("Page.getInstallabilityErrors")["installabilityErrors"]

    assert manifest["errors"] == []
    icons = [icon["src"] for icon in json.loads(manifest["data"])["icons"]]
    assert [holder.page.request.get(front.origin + icon).ok for icon in icons] == [
        True
    ] * 3
    # A fresh profile counts as a private window.
    assert [fault["errorId"] for fault in faults] == ["in-incognito"]


def test_a_release_changes_pages_and_files_together_or_not_at_all(
    holder: Visitor, front: Front
) -> None:
    page = holder.page
    # One machine is at the next release, the other not yet.
    front.worker = NEXT

    assert page.evaluate(UPDATE) == "redundant"
    assert len(page.evaluate("caches.keys()")) == 1

    front.is_away = True
    page.reload()
    expect(page.get_by_text("A ticket").first).to_be_visible()
    assert loaded_releases(page) == [OURS]

    front.is_away, front.pages = False, NEXT
    assert page.evaluate(UPDATE) == "installed"
    # The open page still gets its own modules, which the service has no more.
    name = f"/web/{OURS}/js/pages/item/page.js"
    assert page.evaluate("name => fetch(name).then(({ ok }) => ok)", name)

    front.is_away = True
    page.reload()
    expect(page.get_by_text("A ticket").first).to_be_visible()
    assert loaded_releases(page) == [NEXT]

    # Nothing uses the earlier release once its pages are left.
    front.is_away = False

    def kept_after_leaving() -> dict[str, str]:
        page.goto("about:blank")
        page.goto(f"{front.origin}/docs")
        return page.evaluate(KEPT)

    wait_until(lambda: not any(OURS in url for url in kept_after_leaving()))
    page.goto(f"{front.origin}/wallet")
    assert loaded_releases(page) == [NEXT]
