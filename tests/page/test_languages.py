"""The language of pages: which one it is, and that nothing is left in another."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po
from playwright.sync_api import expect
from werkzeug.serving import make_server

from parts.pages import static_files
from tests.page.html import read_page
from tests.page.steps import hold, wait_for_rows
from tests.page.visitor import PHONE, visiting, wait_for_true
from tests.support.api import fresh
from tests.support.problems import PROBLEMS
from tests.support.serving import REPOSITORY

PAGE = REPOSITORY / "parts" / "pages"
TRANSLATIONS = PAGE / "translations"
CATALOGUES = sorted(TRANSLATIONS.rglob("*.po"))
# By the names of catalogues.
SOURCES = {
    "messages": [*PAGE.glob("*.py"), PAGE / "templates"],
    "javascript": [static_files.STATIC / "js"],
}
PLACES = re.compile(r"%\(\w+\)\w|\{\w+\}|<[^>]+>")
CALL = re.compile(r"(?<!function )\bn?gettext\(")
MARKS = Path(__file__).parent / "js" / "marks.js"
# A person's own, in other letters than those of the pages.
OWN = {"name": "Παράσταση 7", "description": "Στις οκτώ."}
WAITING = "scans that wait"
UNIT = "θέση/θέσεις"


def read_catalogue(path):
    with path.open("rb") as file:
        return [message for message in read_po(file) if message.id]


def forms(texts):
    return [texts] if isinstance(texts, str) else list(texts)


@pytest.fixture(scope="module", params=SOURCES)
def extracted(request, tmp_path_factory):
    """The name of the catalogues, and the texts of the code that belong into them."""
    pot = tmp_path_factory.mktemp("texts") / "all.pot"
    command = [sys.executable, "-m", "babel.messages.frontend", "--quiet", "extract"]
    options = ["--mapping-file", TRANSLATIONS / "babel.cfg", "--output", pot]
    subprocess.run([*command, *options, *SOURCES[request.param]], check=True)
    return request.param, read_catalogue(pot)


def test_each_language_has_all_texts_and_no_others(extracted):
    name, messages = extracted
    wanted = {str(message.id) for message in messages}

    for path in (path for path in CATALOGUES if path.stem == name):
        assert {str(message.id) for message in read_catalogue(path)} == wanted


def test_the_texts_of_all_errors_are_translated_and_no_others(api):
    texts = {text for each in PROBLEMS.values() for text in (each.title, each.meaning)}
    for path in (path for path in CATALOGUES if path.stem == "problems"):
        assert {str(message.id) for message in read_catalogue(path)} == texts

    page = api.get("/problems", **{"Accept-Language": "de"})

    said = " ".join(read_page(page).itertext())
    assert "Falscher Medientyp" in said
    assert [text for text in texts if len(text) > 40 and text in said] == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3:])
def test_each_text_is_translated_with_the_same_places(path):
    for message in read_catalogue(path):
        english, translated = forms(message.id), forms(message.string)
        assert all(translated)
        assert not message.fuzzy
        known = {place for text in english for place in PLACES.findall(text)}
        for text in translated:
            # In an attribute it would end that.
            assert '"' not in PLACES.sub("", text)
            assert known >= {*PLACES.findall(text)} >= {*PLACES.findall(english[0])}


def test_each_text_of_the_scripts_is_found():
    """Babel takes a regular expression right behind `return` for a division."""
    options = {"parse_template_string": True}
    for path in static_files.STATIC.rglob("*.js"):
        found = extract_from_file("javascript", path, options=options)
        assert len([*found]) == len(CALL.findall(path.read_text())), path


@pytest.mark.parametrize(
    ("accepted", "cookie", "language"),
    [
        ("de-AT", "", "de"),
        ("fr, de;q=0.9, en;q=0.5", "", "de"),
        ("de", "language=en", "en"),
        ("de", "language=xx", "de"),
    ],
)
def test_a_page_is_in_the_language_chosen_or_else_the_browsers(
    api, accepted, cookie, language
):
    headers = {"Accept-Language": accepted, "Cookie": cookie}

    for path in ("/", "/wallet", "/item/deed_x", "/sw.js"):
        answer = api.get(path, **headers)
        assert {"Accept-Language", "Cookie"} <= {*answer.headers["Vary"].split(", ")}
    page = read_page(api.get("/wallet", **headers))
    assert page.get("lang") == language
    # The other one is a link, which works without scripts.
    other = "en" if language == "de" else "de"
    assert page.find(f".//a[@href='?language={other}']") is not None
    scripts = [each.get("src") for each in page.iter("script")]
    assert any("/languages/de.js" in each for each in scripts) == (language == "de")
    assert f'-{language}", "version"' in api.get("/sw.js", **headers).text
    # The documentation is in English.
    assert read_page(api.get("/docs", **headers)).get("lang") == "en"


@pytest.mark.parametrize(
    ("accepted", "until"),
    [
        ("fr-FR, en-GB;q=0.8, en-US;q=0.5", "Valid until Fri, 6 Dec 2126 · 02:00"),
        ("en_../en", "Valid until Fri, Dec 6, 2126 · 2:00\u202fAM"),
        ("de-AT", "Gültig bis Fr., 6. Dez. 2126 · 02:00"),
    ],
)
def test_dates_are_written_as_the_browser_asks_for(api, accepted, until):
    about = {"description": "Valid until: 2126-12-06 02:00 +01:00"}
    item_id = api.mint("+1.a", metadata=about)

    answer = api.get(f"/item/{item_id}", **{"Accept-Language": accepted})

    assert until in answer.text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    "path", ["/claim/deed_x/", "//example.org/x", "/claim/a%0d%0ab"]
)
def test_a_switch_leads_back_to_the_same_service(api, path):
    answer = api.get(f"{path}?language=de", Accept="text/html")

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("./")
    assert answer.headers["Set-Cookie"].startswith("language=de; ")
    for attribute in ("Max-Age=31536000", "Path=/", "SameSite=Lax"):
        assert attribute in answer.headers["Set-Cookie"]
    unknown = api.get(f"{path}?language=xx", Accept="text/html")
    assert "Set-Cookie" not in unknown.headers


KEPT = """caches.keys().then((names) => Promise.all(
  names.filter((name) => name.endsWith("-%s")).map((name) =>
    caches.open(name).then((cache) => cache.keys()))
)).then((kept) => kept.flat().some(({ url }) => url.endsWith("/wallet")))"""


@pytest.mark.slow
def test_a_switch_keeps_what_is_shown_and_the_pages_for_times_without_a_network(
    browser, web_service
):
    with visiting(browser, web_service.url, service_workers="allow") as visitor:
        page = visitor.go("/wallet#history")
        expect(page.get_by_text("No history yet")).to_be_visible()
        wait_for_true(page, KEPT % "en")
        # There and back again: the worker keeps those of both meanwhile.
        for name, language in [("Deutsch", "de"), ("English", "en"), ("Deutsch", "de")]:
            page.get_by_role("link", name=name).click()
            expect(page.locator("html")).to_have_attribute("lang", language)
            page.locator("[data-ready]").wait_for()
            wait_for_true(page, KEPT % language)

        visitor.go_offline()
        page.reload()

        assert page.url.endswith("/wallet#history")
        expect(page.get_by_text("Noch kein Verlauf")).to_be_visible()
        assert page.title() == "Verlauf · Deeds"


@pytest.fixture
def marked(monkeypatch, tmp_path):
    """German translations with each text between marks."""
    for path in CATALOGUES:
        with path.open("rb") as file:
            catalogue = read_po(file)
        for message in (each for each in catalogue if each.id):
            texts = [f"⟦{text}⟧" for text in forms(message.string)]
            message.string = texts[0] if isinstance(message.id, str) else texts
        own = tmp_path / path.relative_to(TRANSLATIONS)
        own.parent.mkdir(parents=True, exist_ok=True)
        with own.open("wb") as file:
            write_po(file, catalogue)
    monkeypatch.setattr(static_files, "_TRANSLATIONS", tmp_path)
    uncached = static_files.read_static_files
    monkeypatch.setattr("parts.pages.pages.read_static_files_once", uncached)


@pytest.fixture
def german(browser, marked, app):
    """A visitor who reads German, at a phone."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever).start()
    origin = f"http://127.0.0.1:{server.port}"
    with visiting(browser, origin, locale="de-DE", viewport=PHONE) as visitor:
        visitor.context.add_init_script(path=MARKS)
        yield visitor
    server.shutdown()


PATHS = {
    "/": "h1",
    "/help": "h1",
    "/nothing": "h1",
    "/item/deed_nobody": "h1",
    "/item/{item}": "h1",
    "/offer/{offer}": "[data-kind=open]",
    "/claim/{item}#+4.used": "[data-state=spent]",
    "/door": "[data-ready]",
}


def walk(visitor):
    """Yield where a visitor is, at one place of the pages after the other."""
    api = visitor.api
    item = api.mint("+5.link", "+4.used", "+9.give", metadata=OWN)
    api.swap([f"+4.{item}.used"], [fresh(4, item)])
    offer = api.offer_id([f"+9.{item}.give"], [fresh(2, api.mint("+3.x"))])
    page = visitor.page
    for path, ready in PATHS.items():
        visitor.go(path.format(item=item, offer=offer))
        page.locator(ready).first.wait_for()
        yield path
    yield from walk_claim(visitor, item)
    yield from walk_mint(visitor)
    yield from walk_wallet(visitor)


def walk_claim(visitor, item):
    page = visitor.go(f"/claim/{item}#+5.link")
    wait_for_rows(page, "free")
    yield "a link to claim"
    page.locator("#claim-button").click()
    wait_for_rows(page, "taken")
    page.locator("#add-more").click()
    yield "claimed"


def walk_mint(visitor):
    page = visitor.go("/mint")
    page.locator("#name").fill(OWN["name"])
    page.locator("#count").fill("0")
    page.locator("#create-button").click()
    yield "a form with an error"
    page.locator("#count").fill("3")
    page.locator("#create-button").click()
    page.locator("#another-button").wait_for()
    yield "minted"


def walk_send(page):
    page.locator("[data-part=send]").click()
    page.locator("dialog[open] input").first.fill("2")
    yield "one link or several"
    page.locator("dialog[open] [type=submit]").click()
    page.locator("dialog[open] .qr img").wait_for()
    yield "a link"


def walk_wallet(visitor):
    page, _ = hold(visitor, 4, metadata=OWN)
    page.locator("[data-part=show]:visible").click()
    page.locator("dialog[open]").wait_for()
    yield "show"
    page, _ = hold(visitor, 4, 6, metadata=OWN)
    yield "the page of a deed"
    for part in ("split", "merge", "trade"):
        page.locator(".tools [data-icon=more]").click()
        yield "more"
        page.locator(f"[data-part={part}]").click()
        page.locator("dialog[open]").wait_for()
        yield part
        page.keyboard.press("Escape")
    yield from walk_send(page)
    _, item = hold(visitor, links=12, unit=UNIT, metadata=OWN)
    page.locator("[data-part=links] ul > li").first.wait_for()
    yield "links"
    page.locator("[data-icon=export]").click()
    yield "export"
    visitor.go("/wallet").locator("[data-row]").first.wait_for()
    yield "the list"
    for button in ("back-up", "restore"):
        page.locator(f"#{button}").click()
        page.locator("dialog[open]").wait_for()
        yield button
        page.keyboard.press("Escape")
    for view in ("offers", "history"):
        page.locator(f"[data-tab={view}]").click()
        page.locator(f"#{view}:visible, #{view} ~ .empty:visible").first.wait_for()
        yield view
    yield from walk_business(visitor, item)


def type_link(page, text):
    page.locator("#type").fill(text)
    page.locator("#type-form button").click()


def walk_business(visitor, item):
    page = visitor.page
    for path in (f"/door#{item}", f"/till#{item}"):
        visitor.go(path).locator("[data-ready]").wait_for()
        yield path
    page.locator("[data-key='3']").click()
    page.locator("#ask").click()
    page.locator("#request-code img").wait_for()
    yield "a request"
    visitor.go(f"/door#{item}").locator("#start").click()
    verdicts = page.locator("#door-last li")
    for count, scanned in enumerate(("?", f"+1.{item}.nobody"), 1):
        type_link(page, scanned)
        expect(verdicts).to_have_count(count)
        yield f"a verdict on {scanned}"
    visitor.go_offline()
    for secret in ("one", "two", "three"):
        type_link(page, f"+1.{item}.{secret}")
    expect(page.locator("#queue-list li")).to_have_count(3)
    yield WAITING


@pytest.mark.slow
def test_the_head_is_one_line_in_german_too(browser, web_service):
    with visiting(browser, web_service.url, locale="de-DE") as visitor:
        for width in (360, 412, 480, 1280):
            visitor.page.set_viewport_size({"width": width, "height": 740})
            head = visitor.go("/wallet").locator(".top")

            assert head.bounding_box()["height"] < 60, width
            expect(head.get_by_role("link", name="Deeds")).to_be_in_viewport()


@pytest.mark.slow
def test_no_text_is_left_in_english_and_german_fits_on_a_phone(german):
    faults = {}

    for place in walk(german):
        faults[f"{place}: cut"] = german.page.evaluate("marks.cut()")
        # This place shows only the first sentence of a text, without its closing mark.
        if place != WAITING:
            faults[place] = german.page.evaluate("marks.unmarked()")

    assert {place: found for place, found in faults.items() if found} == {}
