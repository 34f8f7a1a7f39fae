"""Paper tickets.

What Chromium prints as a PDF, of which every code is read back to its link.
"""

from itertools import chain

import pypdfium2
import pytest
from playwright.sync_api import expect

from tests.page.qr_reader import read_codes
from tests.page.steps import SHED, TICKET, amounts, claim_link, hold, press, records
from tests.page.visitor import cut_off, wait_for_true

pytestmark = pytest.mark.slow

POINTS = 72 / 25.4
PIXELS = 6
# In millimetres, as css/print.css has it: two by four tickets in the middle of the
# width.
WIDTH, HEIGHT, TOP = 95, 65, 9.5
INSET, TEXT_WIDTH, CODE_WIDTH = 5, 46, 36
CODE_LEFT = WIDTH - INSET - CODE_WIDTH
NAME = "Sümmer «concert» " + "Z\u0310\u0311\u0312" * 30 + "עברית " * 30 + "x" * 200

PLACE = "Moonlight Club, behind the old town hall"
SAID = f"""Doors open at seven.
{"Every seat is free. " * 9}

Date: 2126-12-05 20:00 +00:00
Place: {PLACE}
Valid until: 2126-12-06 02:00 +00:00"""
SHOWN = [
    "Dec 5, 2126",
    PLACE,
    "Valid until Fri, Dec 6, 2126 · 2:00 AM",
    "Doors open at seven. Every seat",
    "Don't post a photo of it.",
]


def part(drawn, left, top, right, bottom):
    """Return the pixels between these edges, in mm from the upper left corner."""
    left, top, right, bottom = (
        round(edge * PIXELS) for edge in (left, top, right, bottom)
    )
    return drawn[top:bottom, left:right]


def is_white(*given):
    return part(*given).min() > 250


def places_on(page):
    """Yield the text and the pixels of each of the eight places of a page."""
    width, height = (points / POINTS for points in page.get_size())
    drawn = page.render(scale=PIXELS / POINTS, grayscale=True).to_numpy().squeeze()
    texts = page.get_textpage()
    for place in range(8):
        left = (width - 2 * WIDTH) / 2 + place % 2 * WIDTH
        top = TOP + place // 2 * HEIGHT
        edges = (left, height - top - HEIGHT, left + WIDTH, height - top)
        text = texts.get_text_bounded(*(edge * POINTS for edge in edges))
        yield text, part(drawn, left, top, left + WIDTH, top + HEIGHT)


def test_without_the_codes_nothing_is_printed_and_nothing_handed_out(visitor):
    page, _ = hold(visitor, links=2, metadata=TICKET)
    cut_off(page, "**/web/qr")
    press(page, "Print")
    dialog = page.get_by_role("dialog")

    press(dialog, "Print")

    said = "The service can't be reached right now. Nothing was printed."
    expect(dialog.get_by_role("alert")).to_have_text(said)
    assert amounts(page) == {"held": [1, 1]}


def assert_printed(pdf, links, item_id):
    """Read every ticket of the pages back."""
    with pypdfium2.PdfDocument(pdf) as document:
        pages = list(document)
        text = "".join(page.get_textpage().get_text_range() for page in pages)
        texts, tickets = zip(*chain(*map(places_on, pages)), strict=True)
    code = CODE_LEFT, INSET, WIDTH - INSET, HEIGHT - INSET
    assert read_codes([part(ticket, *code) for ticket in tickets[:20]]) == links
    for number, said in enumerate(texts[:20], 1):
        lines = said.splitlines()
        line = " ".join(said.split())
        assert [text for text in SHOWN if text not in line] == []
        assert f"Ticket {number} of 20" in lines
        assert f"{item_id[5:9]}·{item_id[-4:]}" in said
    assert "".join(text.split()) == "".join("".join(texts).split())
    for ticket in tickets[:20]:
        # Between text and code.
        assert is_white(ticket, INSET + TEXT_WIDTH, 3.5, CODE_LEFT, HEIGHT - 3.5)
        # Above and below the text.
        assert is_white(ticket, INSET, 0.5, CODE_LEFT, 3.5)
        assert is_white(ticket, INSET, HEIGHT - 3.5, CODE_LEFT, HEIGHT - 0.5)
    assert len(tickets) == 24
    for free in tickets[20:]:
        assert is_white(free, 1, 1, WIDTH - 1, HEIGHT - 1)


def test_tickets_are_printed_eight_to_a_sheet_and_each_code_is_its_link_and_number(
    visitor,
):
    metadata = {"name": NAME, "image": SHED["image"], "description": SAID}
    page, item_id = hold(visitor, links=20, unit="ticket", metadata=metadata)
    page.emulate_media(color_scheme="dark")
    kept = sorted(records(page), key=lambda record: record["number"])
    links = [
        claim_link(visitor.origin, f"+1.{record['key']}") + f"&unit=ticket&n={number}"
        for number, record in enumerate(kept, 1)
    ]
    # Playwright would call a function that is the value of an expression.
    page.evaluate("void (window.print = () => { window.isPrinted = true; })")
    press(page, "Print")
    press(page.get_by_role("dialog"), "Print")
    wait_for_true(page, "window.isPrinted")
    assert amounts(page) == {"given": [1] * 20}
    # What browsers offer at first: margins, with the address and the date in them.
    usual = {
        "margin": dict.fromkeys(["top", "right", "bottom", "left"], "10mm"),
        "display_header_footer": True,
    }

    on_a4 = page.pdf(format="A4", **usual)
    on_letter = page.pdf(format="Letter", print_background=True, **usual)

    assert_printed(on_a4, links, item_id)
    assert_printed(on_letter, links, item_id)
    assert visitor.errors == []
