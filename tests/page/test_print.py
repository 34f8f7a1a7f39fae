"""Paper tickets.

What Chromium prints as a PDF, of which every code is read back to its link.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
from playwright.sync_api import expect

from tests.page import steps
from tests.support.qr_reader import read_codes
from tests.support.waiting import wait_until

POINTS = 72 / 25.4
PIXELS = 6
# In millimetres, as css/print.css has it: two by four tickets in the middle of the
# width.
WIDTH, HEIGHT, TOP = 95, 65, 9.5
INSET, TEXT_WIDTH, CODE_WIDTH = 5, 36, 46
CODE_LEFT = WIDTH - INSET - CODE_WIDTH
NAME = "Sümmer «concert» " + "Z\u0310\u0311\u0312" * 30 + "עברית " * 30 + "x" * 200


@dataclass
class Ticket:
    """A ticket on a page of a PDF, at a place of its eight."""

    text: str
    rows: list[bytes]

    def is_white(self, left: float, top: float, right: float, bottom: float) -> bool:
        """Return whether nothing is printed at these millimetres from its corner."""
        return all(min(row) > 250 for row in self.part(left, top, right, bottom))

    def part(self, left: float, top: float, right: float, bottom: float) -> list[bytes]:
        columns = slice(round(left * PIXELS), round(right * PIXELS))
        return [
            row[columns]
            for row in self.rows[round(top * PIXELS) : round(bottom * PIXELS)]
        ]

    def code(self) -> list[bytes]:
        """Return the place of its QR code."""
        return self.part(CODE_LEFT, INSET, WIDTH - INSET, HEIGHT - INSET)


def read_pdf(data: bytes) -> tuple[list[Ticket], str]:
    """Return eight places of each page, even empty ones, and all that is written."""
    document = pypdfium2.PdfDocument(data)
    pages = list(document)
    tickets = [ticket for page in pages for ticket in tickets_of(page)]
    text = "".join(page.get_textpage().get_text_range() for page in pages)
    document.close()
    return tickets, text


def tickets_of(page: pypdfium2.PdfPage) -> Iterator[Ticket]:
    width, height = (points / POINTS for points in page.get_size())
    bitmap = page.render(scale=PIXELS / POINTS, grayscale=True)
    drawn = bytes(bitmap.buffer)
    texts = page.get_textpage()
    for place in range(8):
        left = (width - 2 * WIDTH) / 2 + place % 2 * WIDTH
        top = TOP + place // 2 * HEIGHT
        edges = (left, height - top - HEIGHT, left + WIDTH, height - top)
        lines = range(round(top * PIXELS), round((top + HEIGHT) * PIXELS))
        starts = [line * bitmap.stride + round(left * PIXELS) for line in lines]
        rows = [drawn[start : start + WIDTH * PIXELS] for start in starts]
        yield Ticket(texts.get_text_bounded(*(edge * POINTS for edge in edges)), rows)


def print_links(page):
    """Press Print, and the button of the dialog that asks which links."""
    page.evaluate("delete window.isPrinted")
    # Playwright would call a function that is the value of an expression.
    page.evaluate("void (window.print = () => { window.isPrinted = true; })")
    page.get_by_role("button", name="Print").click()
    page.get_by_role("dialog").get_by_role("button", name="Print").click()
    wait_until(lambda: page.evaluate("window.isPrinted"))


def test_without_the_codes_nothing_is_printed_and_nothing_handed_out(visitor):
    page, _ = steps.hold_links(visitor, 2, metadata=steps.TICKET)
    page.route("**/web/qr", lambda route: route.abort())

    page.get_by_role("button", name="Print").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Print").click()

    expect(dialog.get_by_role("alert")).to_have_text(
        "No connection. Nothing was printed."
    )
    assert steps.amounts(page) == {"held": [1, 1]}


def test_tickets_are_printed_eight_to_a_sheet_and_each_code_is_its_link(visitor):
    metadata = {"name": NAME, "image": steps.SHED["image"]}
    page, item_id = steps.hold_links(visitor, 20, unit="ticket", metadata=metadata)
    page.emulate_media(color_scheme="dark")
    links = [
        f"{visitor.origin}/claim/{item_id}#+1.{record['secret']}&unit=ticket"
        for record in sorted(steps.records(page), key=lambda record: record["number"])
    ]

    print_links(page)
    print_links(page)

    # The codes of the first time are kept.
    assert len(visitor.asked("/web/qr")) == 1
    assert steps.amounts(page) == {"given": 20 * [1]}
    for paper in ["A4", "Letter"]:
        # What browsers offer at first: margins, with the address and the date in them.
        margin = dict.fromkeys(["top", "right", "bottom", "left"], "10mm")
        background = paper == "Letter"
        drawn = page.pdf(
            format=paper,
            margin=margin,
            display_header_footer=True,
            print_background=background,
        )
        tickets, text = read_pdf(drawn)
        assert len(tickets) == 24
        printed, left_free = tickets[:20], tickets[20:]
        assert read_codes([ticket.code() for ticket in printed]) == links
        for number, ticket in enumerate(printed, 1):
            assert ticket.text.endswith(f"1 ticket\r\n{number}/20")
            assert not ticket.is_white(0, 0, 2.5, 0.5)
            # Between the marks and what is printed, and between text and code.
            assert ticket.is_white(0.5, 3.5, INSET - 0.5, HEIGHT - 3.5)
            assert ticket.is_white(3.5, 0.5, WIDTH - 3.5, INSET - 0.5)
            assert ticket.is_white(INSET + TEXT_WIDTH, 3.5, CODE_LEFT, HEIGHT - 3.5)
        assert "".join(text.split()) == "".join(
            "".join(each.text.split()) for each in printed
        )
        assert all(ticket.is_white(1, 1, WIDTH - 1, HEIGHT - 1) for ticket in left_free)
    assert visitor.errors == []
