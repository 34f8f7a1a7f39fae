"""The Mint page in a browser: a form that nobody has to read much for, and outputs to be saved."""

import json
import re

from playwright.sync_api import expect

from deeds.domain.raw_output import is_strong_secret, parse_raw_output
from tests.page.conftest import OUTPUTS_MAX
from tests.page.steps import check, link
from tests.support.waiting import wait_until

SAID = "each => each.labels?.[0]?.textContent ?? each.ariaLabel ?? each.textContent"


def shown(page, label):
    """Return the texts of the fields with this label."""
    fields = page.get_by_label(label, exact=True).all()
    return [each.input_value() for each in fields if each.is_visible()]


def mint_parts(page, *amounts):
    """Mint with so many parts of the amounts; return the raw outputs that are shown."""
    for place, amount in enumerate(amounts):
        if place:
            page.get_by_role("button", name="Add a part").click()
        page.get_by_role("textbox", name="Units").nth(place).fill(amount)
    page.get_by_role("button", name="Mint the deed").click()
    page.get_by_role("heading", name="Your deed is minted").wait_for()
    return shown(page, "Raw output")


def tab_to(page, name):
    """Press Tab until the control with this name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if " ".join(page.locator(":focus").evaluate(SAID).split()).startswith(name):
            return
    raise AssertionError(f"no Tab leads to {name}")


def test_a_deed_is_minted_by_the_keyboard_alone(visitor):
    page = visitor.go("/mint")

    tab_to(page, "Name")
    page.keyboard.type("A ticket")
    tab_to(page, "Add a part")
    page.keyboard.press("Enter")
    page.keyboard.type("41")
    page.keyboard.press("Enter")
    expect(page.locator("#minted-title")).to_be_focused()

    raws = shown(page, "Raw output")
    assert [parse_raw_output(raw).amount for raw in raws] == [1, 41]
    assert check(visitor.origin, raws) == ["unspent", "unspent"]
    tab_to(page, "I have saved them")
    page.keyboard.press("Space")
    tab_to(page, "Mint another deed")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name")).to_be_focused()
    assert shown(page, "Units") == ["1"]


def test_what_was_typed_is_what_is_minted(visitor):
    page = visitor.go("/mint")
    body = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"/>'
    picture = {"body": body, "content_type": "image/svg+xml"}
    page.route("https://pictures.example/**", lambda route: route.fulfill(**picture))
    page.get_by_label("Name").fill(" A <b>ticket</b> ")
    page.get_by_label("Description").fill("One seat,\non the lawn")
    page.get_by_label("Address of a picture").fill("https://pictures.example/ä b.png#top")
    page.get_by_text("It is 100 pixels wide: from 320 on it looks sharp.").wait_for()
    expect(page.locator("#preview .deed-image")).to_be_visible()
    expect(page.locator("#preview [data-card=name]")).to_have_text("A <b>ticket</b>")
    page.get_by_label("Choose the secret myself").check()
    secret = page.get_by_label("Secret", exact=True)
    secret.fill("shed")
    page.get_by_text("Easy to guess").wait_for()
    secret.fill("a.b+c päivä 東京 correct horse")
    page.get_by_text("Hard to guess").wait_for()

    [raw] = mint_parts(page, "1 000")

    item_id = parse_raw_output(raw).item_id
    assert raw == f"+1000.{item_id}.a.b+c päivä 東京 correct horse"
    assert check(visitor.origin, [raw]) == ["unspent"]
    metadata = page.request.get(f"{visitor.origin}/v1/item/{item_id}").json()["metadata"]
    assert json.loads(metadata) == {
        "name": "A <b>ticket</b>",
        "description": "One seat,\non the lawn",
        "image": "https://pictures.example/%C3%A4%20b.png",
    }
    expect(page.locator("#minted-link")).to_have_attribute("href", f"/item/{item_id}")


def test_secrets_are_strong_and_in_no_address_but_after_the_fragment_of_links(visitor):
    page = visitor.go("/mint")
    raws = mint_parts(page, "40", "2")
    secrets = [parse_raw_output(raw).secret for raw in raws]
    assert all(is_strong_secret(secret) for secret in secrets)
    assert len(set(secrets)) == 2
    links = shown(page, "Claim link")
    assert links == [link(visitor.origin, raw) for raw in raws]
    assert visitor.asked("/web/qr") == []

    page.get_by_text("QR code").last.click()
    expect(page.get_by_role("img", name="QR code of the claim link to 2 units")).to_be_visible()

    [drawn] = visitor.asked("/web/qr")
    assert (drawn.method, drawn.post_data_json) == ("POST", {"texts": [links[1]]})
    wait_until(lambda: page.evaluate("document.querySelectorAll('.qr img')[0]?.naturalWidth > 0"))
    assert [secret for secret in secrets if visitor.asked(secret)] == []


def test_each_mistake_is_told_beside_its_field_and_a_refusal_loses_nothing(visitor):
    page = visitor.go("/mint")
    page.get_by_role("button", name="Add a part").click()
    for box in page.get_by_label("Choose the secret myself").all():
        box.check()
    amount = page.get_by_role("textbox", name="Units").first
    first, second = page.get_by_label("Secret", exact=True).all()
    picture = page.get_by_label("Address of a picture")
    send = page.get_by_role("button", name="Mint the deed")

    amount.fill("1.5")
    picture.fill("javascript:alert(1)")
    send.click()
    expect(amount).to_have_accessible_description(re.compile("An amount is a whole number from 1"))
    expect(first).to_have_accessible_description("A secret has 1 to 32 characters.")
    expect(picture).to_have_accessible_description(re.compile("An address starts with https://"))
    expect(picture).to_be_focused()
    visitor.assert_good()
    amount.fill("1")
    picture.fill("")
    first.fill("same")
    second.fill("same")
    send.click()

    expect(second).to_have_accessible_description(re.compile("Another part has this secret"))
    expect(second).to_be_focused()
    assert visitor.asked("/v1/mint") == []
    second.fill("other")
    page.route("**/mint", lambda route: route.fulfill(status=413, json={"code": "body_too_large"}))
    send.click()
    page.get_by_text("This is more than the service takes at once.").wait_for()
    expect(second).to_have_value("other")
    expect(page.locator("#mint-error")).to_be_focused()
    expect(send).to_be_enabled()


def test_parts_come_and_go_and_the_total_follows(visitor):
    page = visitor.go("/mint")
    add = page.get_by_role("button", name="Add a part")

    add.click()
    add.click()
    for place, amount in enumerate(["40", "2", "1000"]):
        page.get_by_role("textbox", name="Units").nth(place).fill(amount)
    expect(page.locator("#total")).to_have_text("1\u202f042")
    page.get_by_role("button", name="Remove part 2").click()

    expect(page.locator("#total")).to_have_text("1\u202f040")
    expect(page.locator("#preview [data-card=units]")).to_have_text("1\u202f040 units")
    page.get_by_role("button", name="Remove part 2").click()
    expect(page.get_by_role("button", name="Remove part 1")).to_be_disabled()
    page.evaluate("for (let n = 0; n < 40; n += 1) document.getElementById('add-output').click()")
    expect(page.locator("[data-row]")).to_have_count(OUTPUTS_MAX)
    expect(add).to_be_disabled()


def test_the_page_insists_on_saving_what_can_be_copied_and_downloaded(visitor):
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.go("/mint")
    asked = []

    def leave_if_asked(dialog):
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave_if_asked)
    mint_parts(page, "1")
    expect(page.get_by_role("button", name="Mint another deed")).to_be_disabled()
    page.reload()
    assert asked == ["beforeunload"]

    raws = mint_parts(page, "40", "2")
    links = shown(page, "Claim link")
    read = "navigator.clipboard.readText()"
    page.get_by_role("button", name="Copy the claim link").last.click()
    wait_until(lambda: page.evaluate(read) == links[1])
    page.get_by_role("button", name="Copy the raw output").first.click()
    wait_until(lambda: page.evaluate(read) == raws[0])
    page.get_by_role("button", name="Copy all").click()
    everything = "\n".join([links[0], raws[0], "", links[1], raws[1], ""])
    wait_until(lambda: page.evaluate(read) == everything)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.path().read_text() == everything
    assert re.fullmatch(r"deed_[0-9a-z]{26}\.txt", download.value.suggested_filename)
    page.get_by_label("I have saved them").check()
    page.reload()
    assert asked == ["beforeunload"]
