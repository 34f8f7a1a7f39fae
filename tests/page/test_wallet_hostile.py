"""My deeds where the deeds were made to do harm, or the browser keeps nothing."""

import json
import urllib.request
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.page.holding import amounts, hold
from tests.page.samples import mint_deed
from tests.support.hostile_metadata import ACCEPTED_IMAGES, IMAGES, TEXTS

# Puts records into the store as another maker's page could have, and tells the page.
PUT = """([kind, all]) => new Promise((resolve, reject) => {
  const opening = indexedDB.open("deeds");
  opening.onsuccess = () => {
    const transaction = opening.result.transaction(kind, "readwrite");
    for (const record of all) transaction.objectStore(kind).put(record);
    transaction.onabort = () => reject(transaction.error);
    transaction.oncomplete = () => {
      opening.result.close();
      new BroadcastChannel("deeds").postMessage("changed");
      resolve();
    };
  };
})"""


def put_held(page, items):
    """Put items with an output each into the store."""
    outputs = [
        {
            "key": f"{item['id']}.a",
            "itemId": item["id"],
            "amount": 1,
            "secret": "a",
            "state": "held",
            "createdAt": place,
            "changedAt": place,
        }
        for place, item in enumerate(items)
    ]
    page.evaluate(PUT, ["items", [item | {"key": item["id"]} for item in items]])
    page.evaluate(PUT, ["outputs", outputs])


def wait_for_holdings(page, count):
    expect(page.locator("[data-holding]")).to_have_count(count)


@pytest.fixture
def dialogs(visitor):
    """The browser's own dialogs that a page has opened."""
    opened = []

    def dismiss(dialog):
        opened.append(dialog.message)
        dialog.dismiss()

    visitor.page.on("dialog", dismiss)
    return opened


def test_no_text_of_a_deed_runs_or_leaves_its_place(visitor, dialogs):
    page = visitor.go("/wallet")
    texts = list(TEXTS.values())
    items = [
        {"id": mint_deed(visitor.origin, {"name": text, "description": text}, "+1.a")}
        for text in texts
    ]
    asked = [item["id"] for item in items]

    put_held(page, [{"id": each, "total": 1} | item_of(visitor.origin, each) for each in asked])
    wait_for_holdings(page, len(texts))
    page.get_by_label("Units to send").first.fill("1")
    page.get_by_role("button", name="Make a link").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()

    names = page.locator("[data-card=name]").evaluate_all("all => all.map((e) => e.textContent)")
    assert sorted(names) == sorted(texts)
    assert page.evaluate("[window.harmed, top.harmed]") == [None, None]
    assert dialogs == []
    assert visitor.watched("violations") == []
    assert visitor.foreign_requests() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.url == f"{visitor.origin}/wallet"


def item_of(origin, item_id):
    """Return the item as the service has it."""
    with urllib.request.urlopen(f"{origin}/v1/item/{item_id}", timeout=30) as answer:
        return json.load(answer)


def test_no_address_of_a_picture_runs_or_is_followed_elsewhere(visitor, dialogs):
    page = visitor.go("/wallet")
    images = IMAGES | ACCEPTED_IMAGES
    items = [
        {"id": f"deed_{place}", "total": 1, "metadata": json.dumps({"name": name, "image": image})}
        for place, (name, image) in enumerate(images.items())
    ]

    put_held(page, items)
    wait_for_holdings(page, len(items))
    page.wait_for_load_state("networkidle")

    shown = page.locator("[data-card=image][src]").evaluate_all("all => all.map((e) => e.src)")
    assert {each.split(":", 1)[0] for each in shown} == {"https", "data"}
    assert page.evaluate("[window.harmed, top.harmed]") == [None, None]
    assert dialogs == []
    assert [url for url in visitor.foreign_requests() if "127.0.0.1:9" not in url] == []


METADATA = ["null", "[]", "3", '"text"', "{", '{"name": {"a": 1}}', '{"image": ["x"]}', ""]


def test_metadata_of_any_form_is_a_deed_without_a_name(visitor):
    page = visitor.go("/wallet")
    items = [
        {"id": f"deed_{place}", "total": 1, "metadata": metadata}
        for place, metadata in enumerate(METADATA)
    ]

    put_held(page, items)
    wait_for_holdings(page, len(items))

    expect(page.locator("[data-card=name]")).to_have_text(["A deed without a name"] * len(METADATA))
    assert visitor.errors == []


def test_a_deed_of_another_service_is_shown_as_far_as_it_is_known(visitor):
    page = visitor.go("/wallet")

    output = {"itemId": "deed_elsewhere", "amount": 2, "secret": "a", "state": "held"}
    record = output | {"key": "deed_elsewhere.a", "createdAt": 1, "changedAt": 1e300}
    page.evaluate(PUT, ["outputs", [record]])
    page.get_by_role("button", name="Check their state").click()

    expect(page.locator("#checked")).to_contain_text(
        "Not known to the service: 2 units of “A deed”."
    )
    page.locator("[data-part=parts] > summary").click()
    expect(page.get_by_text("not known to the service", exact=True)).to_be_visible()
    expect(page.locator("[data-part=send]")).to_be_hidden()
    expect(page.locator("[data-holding] .deed-about")).to_have_text("deed_elsewhere")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "Object.defineProperty(window, 'indexedDB', { value: undefined });",
            "This browser keeps nothing for pages (IndexedDB).",
        ),
        (
            "indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); };",
            "This browser keeps nothing for this page.",
        ),
        (
            """IDBFactory.prototype.open = function () {
              const request = {};
              setTimeout(() => {
                request.error = new DOMException("no", "UnknownError");
                request.onerror();
              });
              return request;
            };""",
            "This browser keeps nothing for this page.",
        ),
    ],
    ids=["none", "forbidden", "refused"],
)
def test_a_browser_that_keeps_nothing_is_told_so(visitor, script, said):
    visitor.context.add_init_script(script)

    page = visitor.go("/wallet")

    expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    expect(page.get_by_role("heading", name="Keep a copy")).to_be_hidden()
    assert visitor.errors == []


ROOM_BYTES = 200_000

# Writes into another database, in ever smaller pieces, until not even the smallest has room.
FILL = """async () => {
  const opening = indexedDB.open("filler", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("a", { autoIncrement: true });
  await new Promise((resolve) => (opening.onsuccess = resolve));
  const fits = (size) => new Promise((resolve) => {
    const transaction = opening.result.transaction("a", "readwrite");
    transaction.objectStore("a").put("x".repeat(size));
    transaction.oncomplete = () => resolve(true);
    transaction.onabort = () => resolve(false);
  });
  for (let size = 65536; size >= 1; size /= 2) while (await fits(size));
}"""


@contextmanager
def little_room(visitor):
    """Let the profile have little room until the block ends."""
    session = visitor.context.new_cdp_session(visitor.page)
    session.send(
        "Storage.overrideQuotaForOrigin", {"origin": visitor.origin, "quotaSize": ROOM_BYTES}
    )
    yield
    session.detach()


def test_a_device_without_room_says_so_and_sends_nothing(visitor):
    with little_room(visitor):
        page, _ = hold(visitor, 10)
        page.evaluate(FILL)

        page.get_by_label("Units to send").fill("3")
        page.get_by_role("button", name="Make a link").click()

        expect(page.get_by_label("Units to send")).to_have_accessible_description(
            "This device has no room left to keep it. Make some, then reload this page."
        )
        assert amounts(page) == {"held": [10]}
        assert not any(url.endswith("/v1/swap") for url in visitor.requests)

    page.get_by_role("button", name="Make a link").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert amounts(page) == {"given": [3], "held": [7], "spent": [10]}


def test_a_profile_that_is_cleared_while_the_page_is_open_says_so(visitor):
    page, _ = hold(visitor, 10)
    session = visitor.context.new_cdp_session(page)

    session.send(
        "Storage.clearDataForOrigin", {"origin": visitor.origin, "storageTypes": "indexeddb"}
    )

    expect(page.get_by_role("alert").filter(has_text="Reload it to go on.")).to_be_visible()
