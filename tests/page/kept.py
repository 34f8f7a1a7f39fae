"""What a browser profile keeps for the page, read past the page's own code."""

from typing import Any

from playwright.sync_api import Page

_READ = """() => new Promise((resolve, reject) => {
  const opening = indexedDB.open("deeds");
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const database = opening.result;
    const transaction = database.transaction(["outputs", "operations"]);
    const asked = ["outputs", "operations"].map((kind) => transaction.objectStore(kind).getAll());
    transaction.oncomplete = () => {
      database.close();
      resolve(asked.map(({ result }) => result));
    };
  };
})"""


def kept_operations(page: Page) -> list[tuple[str, str]]:
    """Return kind and state of each operation, oldest first."""
    _, operations = page.evaluate(_READ)
    operations.sort(key=lambda each: each["begunAt"])
    return [(each["kind"], each["state"]) for each in operations]


def kept_outputs(page: Page, state: str) -> list[str]:
    """Return the raw outputs in this state."""
    outputs, _ = page.evaluate(_READ)
    return [_raw(each) for each in outputs if each["state"] == state]


def _raw(output: dict[str, Any]) -> str:
    return f"+{output['amount']}.{output['itemId']}.{output['secret']}"
