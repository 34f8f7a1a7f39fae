"""Every page in both themes and widths: for everybody, still, and with nothing from elsewhere."""

import pytest

from tests.page.accessibility import faults
from tests.page.samples import PAGES
from tests.page.screenshots import THEMES, WIDTHS, fill_in, mint

VIEWS = [(theme, width) for theme in THEMES for width in WIDTHS]


def look(visit, view):
    theme, width = view
    return visit(color_scheme=theme, viewport={"width": width, "height": 740})


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_open_to_everybody_and_does_nothing_that_it_should_not(visit, pages, name, view):
    visitor = look(visit, view)

    page = visitor.go(pages[name])
    visitor.rest()

    assert visitor.is_still()
    assert visitor.watched("violations") == []
    assert visitor.foreign_requests() == []
    assert visitor.errors == expected_errors(name)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []


def expected_errors(name):
    # What Chromium says of the page itself when it is a 404.
    unknown = "Failed to load resource: the server responded with a status of 404 (NOT FOUND)"
    return [unknown] if name == "item-unknown" else []


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_minting_is_open_to_everybody_and_does_nothing_that_it_should_not(visit, view):
    visitor = look(visit, view)
    page = visitor.go("/")

    fill_in(page)
    assert faults(page) == []
    mint(page)

    assert faults(page) == []
    assert visitor.watched("violations") == []
    assert visitor.foreign_requests() == []
    assert visitor.errors == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_mistakes_in_the_form_are_told_to_everybody(visitor):
    page = visitor.go("/")

    page.get_by_role("textbox", name="Units").fill("none")
    page.get_by_label("Address of a picture").fill("javascript:alert(1)")
    page.get_by_role("button", name="Mint the deed").click()

    assert faults(page) == []
    assert visitor.errors == []


@pytest.mark.parametrize("name", PAGES)
def test_every_control_can_be_hit_with_a_thumb(visitor, pages, name):
    page = visitor.go(pages[name])

    # A check box is hit by its label too.
    small = page.evaluate("""() =>
        [...document.querySelectorAll("button, input, textarea, nav a, .button, summary")]
          .filter((each) => each.checkVisibility({ visibilityProperty: true }))
          .map((each) => (each.type === "checkbox" ? each.labels[0] : each))
          .filter((each) => each.getBoundingClientRect().height < 44)
          .map((each) => each.outerHTML)""")

    assert small == []


@pytest.mark.parametrize("path", ["/", "/claim", "/wallet"])
def test_without_scripts_a_page_says_what_it_needs_and_offers_nothing_that_fails(visit, path):
    page = visit(java_script_enabled=False).go(path)

    assert page.locator("noscript .notice").is_visible()
    assert page.locator("main button:visible, main input:visible").count() == 0


def test_the_first_tab_leads_past_the_head_of_a_page(visitor):
    page = visitor.go("/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.id") == "name"
