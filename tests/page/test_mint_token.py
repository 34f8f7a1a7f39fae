"""Create at a service that asks for a token, in a browser."""

import json

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    expect_notice,
    expect_shown,
    operations,
    press,
    records,
)
from tests.page.visitor import visiting
from tests.support.applications import AFTER_COMMIT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

OLD, NEW = "old-token-0123456", "new-token-+/=~0123456"
KINDS = ["outputs", "operations", "items", "seeds", "numbers", "notes", "codes"]


@pytest.fixture
def visitor(browser, port):
    with visiting(browser, f"http://127.0.0.1:{port}") as visitor:
        yield visitor


def open_form(visitor, name="A ticket"):
    """Open the Create page, and enter a name."""
    page = visitor.go("/mint")
    expect(page.get_by_role("button", name="Create")).to_be_enabled()
    page.get_by_label("Name").fill(name)
    return page


def create(page):
    press(page, "Create")
    page.get_by_role("button", name="Create another").wait_for()


def field_of(page):
    return page.get_by_label("Operator's token")


def credentials(requests):
    """Return what was sent in Authorization, where it was."""
    sent = [each.headers.get("authorization") for each in requests]
    return [each for each in sent if each is not None]


def test_create_asks_once_for_the_token_and_keeps_it_beside_the_wallet(life, visitor):
    with life(DEEDS_MINT_TOKEN=OLD):
        page = open_form(visitor)
        press(page, "Create")
        expect(page.locator("#mint-token-error")).to_have_text("Enter the token.")
        field_of(page).fill("wrong-token-0123456")
        press(page, "Create")
        expect(page.locator("#mint-token-error")).to_contain_text("is wrong")
        expect(field_of(page)).to_be_focused()
        # Nothing is written down before there is a token.
        assert operations(page) == []
        visitor.requests.clear()

        field_of(page).fill(f" {OLD} ")
        create(page)
        page = open_form(visitor, "A voucher")
        expect(field_of(page)).to_be_hidden()
        create(page)

        assert operations(page) == [("mint", "done")] * 2
        assert OLD in page.evaluate("JSON.stringify(localStorage)")
        # What a backup holds is among the records.
        assert OLD not in json.dumps([records(page, each) for each in KINDS])
    # A question about the token, and two mints; nothing else is sent one.
    assert credentials(visitor.asked("/v1/mint")) == [f"Bearer {OLD}"] * 3
    assert len(credentials(visitor.requests)) == 3


def test_a_page_learns_by_its_mint_which_token_is_asked_for_and_keeps_the_form(
    life, visitor
):
    with life(DEEDS_MINT_TOKEN=""):
        page = open_form(visitor)
        expect(field_of(page)).to_be_hidden()
    with life(DEEDS_MINT_TOKEN=OLD):
        press(page, "Create")
        expect_shown(page, "To create here, you need a token.")
        expect(field_of(page)).to_be_focused()
        field_of(page).fill(OLD)
        press(page, "Save the token")
        expect_notice(page, "The token is saved.")
        expect(page.get_by_role("button", name="Create")).to_be_focused()
    with life(DEEDS_MINT_TOKEN=NEW):
        press(page, "Create")
        expect_shown(page, "This token is wrong, or it was replaced.")
        expect(field_of(page)).to_be_focused()
        expect(page.get_by_label("Name")).to_have_value("A ticket")
    with life(DEEDS_MINT_TOKEN=""):
        page = open_form(visitor)
        expect(field_of(page)).to_be_hidden()
        create(page)


def test_a_mint_whose_answer_was_lost_waits_for_the_token_that_came_after(
    life, visitor, tmp_path, ledger
):
    hold_file = tmp_path / "hold"
    with life(DEEDS_MINT_TOKEN=OLD):
        page = open_form(visitor)
        visitor.assert_good()
        field_of(page).fill(OLD)
        press(page, "Save the token")
        expect(field_of(page)).to_be_hidden()
        hold_file.write_text(AFTER_COMMIT)
        press(page, "Create")
        wait_until(lambda: not hold_file.exists())
    with life(DEEDS_MINT_TOKEN=NEW):
        expect(field_of(page)).to_be_visible()
        assert operations(page) == [("mint", "begun")]

        field_of(page).fill(NEW)
        press(page, "Save the token")

        expect_shown(page, "Your link is ready")
        assert operations(page) == [("mint", "done")]
        assert ledger.operations() == [("mint", 0, 1)]
