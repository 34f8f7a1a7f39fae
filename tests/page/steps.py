"""Steps that the tests in a browser share, and what the browser then stores."""

import base64

from playwright.sync_api import expect

from tests.support.api import fresh, good
from tests.support.waiting import wait_until

PASTE = "Claim links"
# A page that gets the focus does at once what it otherwise does from time to time.
COME_BACK = "dispatchEvent(new Event('focus'))"
MINE = "Yes, it"
PASSPHRASE = "four words, not connected"
COPIED = "navigator.clipboard.readText()"


def svg(width, height, content=""):
    """Return a data: URI of a picture of this size."""
    size = f'width="{width}" height="{height}"'
    text = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{content}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"


SHED = {
    "name": "A share in the garden shed",
    "description": "One of a hundred. Whoever holds ten has a key to the door "
    "and may keep a bicycle in it over the winter.",
    "image": svg(640, 420, '<rect width="640" height="420" fill="#8fbcd8"/>'),
}
TICKET = {"name": "A ticket"}
DRINK = {"name": "A drink", "description": "At the bar.\n\nUnit: drink/drinks"}


def mint_outputs(api, *secrets, metadata=SHED):
    """Mint five units for each secret; return the raw outputs."""
    item_id = api.mint(*(f"+5.{secret}" for secret in secrets), metadata=metadata)
    return [f"+5.{item_id}.{secret}" for secret in secrets]


def spend(api, raw):
    """Spend an output as somebody who has a copy of its secret."""
    amount, item_id, _ = raw.split(".", 2)
    good(api.swap([raw], [fresh(int(amount), item_id)]))


def claim_link(origin, raw):
    """Return the claim link of a raw output whose secret needs no escaping."""
    amount, item_id, secret = raw.split(".", 2)
    return f"{origin}/claim/{item_id}#{amount}.{secret}"


def press(place, name):
    """Click the only button whose name contains this."""
    place.get_by_role("button", name=name).click()


def follow(page, name):
    """Click the link of this name."""
    page.get_by_role("link", name=name).click()


def paste(page, text):
    page.get_by_label(PASTE).fill(text)
    press(page, "Continue")


def claim(visitor, raw):
    """Claim an output by its link, in a tab of its own; return its page."""
    page = visitor.open_tab(claim_link("", raw))
    press(page, "Claim")
    expect_shown(page, "Yours now")
    return page


def wait_for_rows(page, *kinds):
    """Wait until the Claim page shows these states, from the first row to the last."""
    read = "rows => rows.map((row) => row.dataset.state)"
    wait_until(lambda: page.locator(".found").evaluate_all(read) == list(kinds))
    expect(page.locator("#found[data-looking]")).to_have_count(0)


def hold(visitor, *amounts, links=0, unit="", metadata=None):
    """Mint these amounts, or a number of links, into the visitor's wallet.

    Return the deed's page and the item's id.
    """
    wanted = [{"amount": amount} for amount in amounts]
    if links:
        wanted = {"links": {"count": links, "each": 1}, "unit": unit}
    page = visitor.go("/wallet")
    item_id = page.evaluate("given => inBrowser.mint(given)", [wanted, metadata])
    open_deed(page, item_id)
    return page, item_id


def open_deed(page, item_id):
    """Follow the row of the list that leads to a deed."""
    page.locator(f"[data-row] a[href='#{item_id}']").click()
    page.locator("[data-holding]").wait_for()


def row(page, number):
    """Return the row of a link on the page of its deed; the first one is 1."""
    return page.locator("[data-part=links] li").nth(number - 1)


def choose(place, item, menu="more"):
    """Open the first menu with this icon, and click its entry of this name."""
    place.locator(f".menu > [data-icon={menu}]:visible").first.click()
    place.locator(":popover-open > *").filter(has_text=item).click()


def send(page, amount):
    """Ask for a link on the page of a deed; return the dialog that shows it.

    Of a single unit it is not asked how many.
    """
    press(page, "Send")
    dialog = page.get_by_role("dialog")
    if amount:
        dialog.get_by_label("How many?").fill(amount)
        press(dialog, "Send")
    return dialog


def send_offline(visitor, amount):
    """Ask for a link without a network, and see that it has to wait."""
    visitor.go_offline()
    send(visitor.page, amount)
    expect(visitor.page.locator("dialog [data-wait]")).not_to_be_empty()
    expect(visitor.page.locator("dialog .error:visible")).to_have_count(0)
    press(visitor.page.get_by_role("dialog"), "Close")
    expect(visitor.page.get_by_role("heading", name="Not finished yet")).to_be_visible()


def give(page, amount):
    """Make a link, and close the dialog that shows it."""
    press(send(page, amount), "Done")


# In place of the browser's own window, in which a person picks a file.
PICK = """async ({suggestedName = "my-deeds.json"} = {}) =>
  (await navigator.storage.getDirectory()).getFileHandle(suggestedName, {create: true})
"""


def confirm_passphrase(dialog, passphrase, again, yes="Back up"):
    dialog.get_by_label("Passphrase", exact=True).fill(passphrase)
    dialog.get_by_label("Repeat passphrase").fill(again)
    press(dialog, yes)


def back_up(page):
    """Write the file and return its path."""
    press(page, "Back up")
    dialog = page.get_by_role("dialog")
    with page.expect_download() as download:
        confirm_passphrase(dialog, PASSPHRASE, PASSPHRASE)
        expect(dialog).to_be_hidden()
    return download.value.path()


def restore(page, path, passphrase):
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Backup file").set_input_files(path)
    dialog.get_by_label("Passphrase of the file").fill(passphrase)
    press(dialog, "Restore")


def restore_elsewhere(visitor, path):
    """Lose the profile, and read the file in another one."""
    visitor.forget()
    page = visitor.go("/wallet")
    take_in(page, path)
    return page


def take_in(page, path, whose=MINE):
    """Restore from a file into the wallet whose list is shown.

    Of its own file it does not ask `whose` it is.
    """
    press(page, "Restore")
    restore(page, path, PASSPHRASE)
    if whose:
        press(page, whose)
    close_report(page)


def close_report(page, *said):
    """Close the report of a restore, and expect these texts in it."""
    told = page.get_by_role("dialog", name="Restored")
    for text in said:
        expect_shown(told, text)
    press(told, "Close")


def expect_shown(place, said):
    """Expect this text to be seen there, alone or within another."""
    expect(place.get_by_text(said)).to_be_visible()


def expect_text(place, selector, said):
    """Expect this to be the whole text of what the selector finds there."""
    expect(place.locator(selector)).to_have_text(said)


def expect_notice(page, said):
    """Expect this within what the page tells above all else."""
    expect(page.locator("#notices")).to_contain_text(said)


def expect_heading(page, name):
    """Expect a heading of this name that has the focus, as a new step of a page has."""
    expect(page.get_by_role("heading", name=name)).to_be_focused()


def expect_sum(page, said):
    """Expect this of the units on the page of a deed.

    Its maker sees large how many were made. What is left, there or on its way, stands
    below.
    """
    left, _, others = said.partition(" units of ")
    if not others:
        return expect_text(page, ".holding-sum", said)
    total, _, away = others.partition(" · ")
    expect_text(page, ".holding-sum", f"{total} units {away}")
    kept = int(left) + int(f"{away} 0".split()[0])
    return expect_text(page, "[data-part=here]", str(kept))


def come_back_until(page, said, place=None):
    """Come back to a page, which asks every other second, until it says something.

    Anywhere, or at a place of it.
    """
    text = (place or page).get_by_text(said)

    def is_said():
        page.evaluate(COME_BACK)
        page.wait_for_timeout(200)
        return text.is_visible()

    wait_until(is_said)


def put(page, kind, records):
    """Put records into the browser's database, without the page."""
    page.evaluate("given => inBrowser.put(given)", [kind, records])


def records(page, kind="outputs"):
    """Return the records of a kind in the browser's database."""
    return page.evaluate("kind => inBrowser.records(kind)", kind)


def amounts(page):
    """Return the amounts of the browser's outputs in each state, in order."""
    found = {}
    for record in sorted(records(page), key=lambda record: record["amount"]):
        found.setdefault(record["state"], []).append(record["amount"])
    return found


def wait_for_amounts(page, **expected):
    """Wait until the browser has these amounts in these states, and no others."""
    wait_until(lambda: amounts(page) == expected)


def raws(page, *states):
    """Return the raw outputs that the browser has in these states."""
    return [
        f"+{record['amount']}.{record['key']}"
        for record in records(page)
        if record["state"] in states
    ]


def operations(page):
    """Return kind and state of each operation, oldest first."""
    kept = sorted(records(page, "operations"), key=lambda record: record["begunAt"])
    return [(record["kind"], record["state"]) for record in kept]


def live_amounts(api, page):
    """Return the amounts of a wallet's outputs that the service would still swap."""
    kept = raws(page, *amounts(page))
    states = api.check(*kept)
    live = [raw for raw, state in zip(kept, states, strict=True) if state == "unspent"]
    return sorted(int(raw[1:].partition(".")[0]) for raw in live)
