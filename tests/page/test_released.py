"""The wallet that a page of each release left in a browser (docs/releases.md)."""

import json

import pytest
from playwright.sync_api import expect

from tests.page.steps import give, live_amounts, open_deed
from tests.page.visitor import visiting
from tests.released.kept import RELEASES, facts_of, load_ledger, settings_of
from tests.support.serving import running_service

pytestmark = pytest.mark.slow

KEEP = """given => new Promise((resolve, reject) => {
  Object.assign(localStorage, given.texts);
  const request = indexedDB.open("deeds", given.version);
  request.onupgradeneeded = () => {
    for (const [name, kept] of Object.entries(given.stores)) {
      const store = request.result.createObjectStore(name, { keyPath: kept.keyPath });
      for (const [index, keyPath] of kept.indexes) store.createIndex(index, keyPath);
      for (const record of kept.records) store.put(record);
    }
  };
  request.onerror = () => reject(request.error);
  request.onsuccess = () => {
    request.result.close();
    resolve();
  };
})"""


@pytest.mark.parametrize("release", RELEASES, ids=lambda it: it.name)
def test_a_wallet_in_a_browser_is_there_and_moves_units(release, browser, tmp_path):
    kept = json.loads((release / "browser.json").read_text())
    shares = facts_of(release, "sqlite")["wallet"]["shares"]
    settings = settings_of(load_ledger(release, tmp_path))
    with (
        running_service(tmp_path, **settings) as service,
        visiting(browser, service.url) as visitor,
    ):
        visitor.go("/healthz").evaluate(KEEP, kept)
        page = visitor.go("/wallet")

        expect(page.get_by_role("link", name="Cinema")).to_be_visible()
        open_deed(page, shares)
        give(page, "5")

        assert 5 in live_amounts(visitor.api, page)
        assert sum(live_amounts(visitor.api, page)) == 105
        assert visitor.errors == []
