"""Pages without a network: what is kept in the browser, and that releases never mix."""

import json
import re
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Error, expect
from werkzeug.serving import make_server
from werkzeug.wrappers import Response

from parts.pages.static_files import read_static_files
from tests.page.steps import TICKET, hold, raws
from tests.page.visitor import visiting
from tests.support.waiting import wait_until

slow = pytest.mark.slow

OURS = read_static_files().version
NEXT = "0123456789abcdef"
PATHS = ["/", "/mint", "/claim", "/offer", "/wallet", "/door", "/till", "/help"]

READY = "navigator.serviceWorker.ready.then(() => true)"
# What the worker of a release ends as. "none": it was over before it was seen here.
UPDATE = """async () => {
  const found = await navigator.serviceWorker.getRegistration();
  await found.update();
  const worker = found.installing ?? found.waiting;
  while (worker?.state === "installing") {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return worker?.state ?? "none";
}"""
KEPT = """async () => {
  const kept = {};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      kept[new URL(request.url).pathname] = await (await cache.match(request)).text();
    }
  }
  return kept;
}"""
LOADED = """() => [...new Set(performance.getEntriesByType("resource")
  .map(({ name }) => name.match(/\\/web\\/([0-9a-f]{16})\\//)?.[1]).filter(Boolean))]"""


@pytest.fixture
def holder(browser, web_service):
    """A visitor whose browser keeps the pages, and who has a ticket."""
    with visiting(browser, web_service.url, service_workers="allow") as visitor:
        page, _ = hold(visitor, 1, metadata=TICKET)
        assert page.evaluate(READY)
        yield visitor


def test_without_a_network_what_is_held_is_shown_and_no_secret_was_kept(holder):
    page = holder.page
    [raw] = raws(page, "held")
    item_id, secret = raw.split(".")[1:]
    link = f"/claim/{item_id}#+1.{secret}"
    for path in [link, f"/item/{item_id}"]:
        page.goto(holder.origin + path)
    page.evaluate("text => fetch('/web/qr', {method: 'POST', body: text})", secret)

    holder.go_offline()

    pages = {
        "/": "landing",
        "/mint": "mint",
        link: "claim",
        "/door": "door",
        "/till": "till",
        "/wallet": "wallet",
    }
    for path, name in pages.items():
        page.goto(holder.origin + path)
        expect(page.locator("h1").first).to_be_visible()
        expect(page.locator("body")).to_have_attribute("data-page", name)
        assert page.evaluate("watched.violations") == []
    expect(page.get_by_text("A ticket").first).to_be_visible()
    kept = page.evaluate(KEPT)
    files = [
        f"/web/{OURS}/{name}"
        for name in read_static_files().by_name
        if name.startswith(("css/", "icon.svg")) or name.endswith("/page.js")
    ]
    assert kept.keys() == {*PATHS, *files}
    said = [text for text in kept.values() if secret in text or item_id in text]
    assert said == []


@slow
def test_a_browser_can_install_the_pages(holder):
    session = holder.context.new_cdp_session(holder.page)

    manifest = session.send("Page.getAppManifest")
    faults = session.send("Page.getInstallabilityErrors")["installabilityErrors"]

    assert manifest["errors"] == []
    icons = [icon["src"] for icon in json.loads(manifest["data"])["icons"]]
    assert [holder.api.get(icon).status_code for icon in icons] == [200] * 3
    # A fresh profile counts as a private window.
    assert [fault["errorId"] for fault in faults] == ["in-incognito"]


@dataclass
class Front:
    """The service as if some of its machines were at another release already."""

    app: Flask
    origin: str = ""
    # The release of the worker and the files, and that of the pages.
    worker: str = OURS
    pages: str = OURS

    def __call__(self, environ: Any, start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        environ["PATH_INFO"] = re.sub(
            r"^/web/([0-9a-f]{16})/",
            lambda asked: f"/web/{OURS if asked[1] == self.worker else 'gone'}/",
            path,
        )
        del environ["HTTP_ACCEPT_ENCODING"]
        answer = Response.from_app(self.app, environ, buffered=True)
        release = (self.pages if path in PATHS else self.worker).encode()
        content = answer.get_data().replace(OURS.encode(), release)
        answer.set_data(re.sub(rb'(?<={"name": ")[0-9a-f]+', release, content))
        answer.headers.remove("ETag")
        return answer(environ, start_response)


@pytest.fixture
def front(app):
    front = Front(app)
    server = make_server("127.0.0.1", 0, front, threaded=True)
    threading.Thread(target=server.serve_forever).start()
    front.origin = f"http://127.0.0.1:{server.port}"
    yield front
    server.shutdown()


def reload_without_a_network(visitor):
    visitor.go_offline()
    visitor.page.reload()
    expect(visitor.page.get_by_text("A ticket").first).to_be_visible()


@slow
def test_a_release_changes_pages_and_files_together_or_not_at_all(browser, front):
    with visiting(browser, front.origin, service_workers="allow") as visitor:
        page, _ = hold(visitor, 1, metadata=TICKET)
        assert page.evaluate(READY)
        # One machine is at the next release, the other not yet.
        front.worker = NEXT
        wait_until(lambda: page.evaluate(UPDATE) == "redundant")
        assert len(page.evaluate("caches.keys()")) == 1
        reload_without_a_network(visitor)
        assert page.evaluate(LOADED) == [OURS]

        visitor.go_online()
        front.pages = NEXT
        # The browser may have begun to look for it before, and not have found all.
        wait_until(lambda: page.evaluate(UPDATE) == "installed")
        # The open page still gets its own modules, which the service has no more.
        name = f"/web/{OURS}/js/pages/item/page.js"
        assert page.evaluate("name => fetch(name).then(({ ok }) => ok)", name)
        reload_without_a_network(visitor)
        assert page.evaluate(LOADED) == [NEXT]

        # Nothing uses the earlier release once its pages are left.
        visitor.go_online()

        def is_forgotten():
            page.goto("about:blank")
            try:
                page.goto(f"{front.origin}/docs", timeout=5000)
            except Error:
                # Where Playwright loses a worker as that starts, its page waits for it.
                return False
            return not any(OURS in path for path in page.evaluate(KEPT))

        wait_until(is_forgotten)
        page.goto(f"{front.origin}/wallet")
        assert page.evaluate(LOADED) == [NEXT]
