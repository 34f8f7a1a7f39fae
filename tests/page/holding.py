"""Wallets in browsers: deeds put into them, and what is kept of them."""

from typing import Any

from playwright.sync_api import Page

from tests.page.samples import post
from tests.page.visitor import Visitor

# The page's own modules, as a second tab would run them.
_WALLET = """
const style = document.querySelector("link[rel=stylesheet]").href;
const load = (name) => import(new URL(`js/${name}`, style));
const [{ openStore }, { makeApi }, { makeStrongSecret }, { makeWallet }] = await Promise.all(
  ["wallet/store.js", "wallet/api.js", "format/strong_secret.js", "wallet/wallet.js"].map(load),
);
const store = await openStore();
const api = makeApi((...request) => fetch(...request));
const wallet = makeWallet({ store, api, makeSecret: makeStrongSecret });
"""

_MINT = f"""async ([outputs, metadata]) => {{ {_WALLET}
  const {{ operation }} = await wallet.mint({{ outputs, metadata }});
  store.close();
  return operation.itemId;
}}"""

_CLAIM = f"""async (output) => {{ {_WALLET}
  const {{ operation }} = await wallet.claim(output);
  store.close();
  return operation.state;
}}"""

_RECORDS = """(kind) => new Promise((resolve, reject) => {
  const opening = indexedDB.open("deeds");
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const all = opening.result.transaction(kind).objectStore(kind).getAll();
    all.onsuccess = () => {
      opening.result.close();
      resolve(all.result);
    };
  };
})"""


def hold(
    visitor: Visitor, *amounts: int, metadata: dict[str, str] | None = None
) -> tuple[Page, str]:
    """Mint an item into the visitor's wallet; return the My deeds page and the item's id."""
    page = visitor.go("/wallet")
    outputs = [{"amount": amount} for amount in amounts]
    item_id = page.evaluate(_MINT, [outputs, metadata])
    page.locator("[data-holding]").first.wait_for()
    return page, str(item_id)


def claim(visitor: Visitor, output: dict[str, Any]) -> str:
    """Take custody of an output in another profile; return the operation's state."""
    return str(visitor.go("/wallet").evaluate(_CLAIM, raw_parts(output)))


def records(page: Page, kind: str = "outputs") -> list[dict[str, Any]]:
    """Return what the browser keeps."""
    found: list[dict[str, Any]] = page.evaluate(_RECORDS, kind)
    return found


def amounts(page: Page) -> dict[str, list[int]]:
    """Return the amounts that the browser keeps in each state, in order."""
    found: dict[str, list[int]] = {}
    for record in sorted(records(page), key=lambda record: record["amount"]):
        found.setdefault(record["state"], []).append(record["amount"])
    return found


def in_state(page: Page, state: str) -> list[dict[str, Any]]:
    """Return the outputs of one state."""
    return [record for record in records(page) if record["state"] == state]


def raw(record: dict[str, Any]) -> str:
    """Return the raw output of a record."""
    return f"+{record['amount']}.{record['itemId']}.{record['secret']}"


def raw_parts(record: dict[str, Any]) -> dict[str, Any]:
    """Return what an output is to whoever is sent it."""
    return {name: record[name] for name in ("amount", "itemId", "secret")}


def live_amounts(origin: str, page: Page) -> list[int]:
    """Return the amounts of the outputs in a wallet that the service would still swap."""
    kept = sorted(records(page), key=lambda record: record["amount"])
    states = post(f"{origin}/v1/check", {"outputs": [raw(record) for record in kept]})["states"]
    return [
        record["amount"] for record, state in zip(kept, states, strict=True) if state == "unspent"
    ]


def take(origin: str, record: dict[str, Any], secret: str = "somebody else's") -> None:
    """Spend an output as somebody who has a copy of its secret."""
    made = raw(record | {"secret": secret})
    assert post(f"{origin}/v1/swap", {"inputs": [raw(record)], "outputs": [made]}) == {
        "success": True
    }
