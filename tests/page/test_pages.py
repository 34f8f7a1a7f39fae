"""All pages for people.

Nothing from elsewhere, nothing inline, and the files that they load.
"""

from contextlib import closing
from pathlib import PurePath

import pytest

from parts.pages.answers import MEDIA_TYPES
from parts.pages.static_files import read_static_files
from tests.page.html import read_page
from tests.support.api import Api, create_app, environ_of, fresh, read_settings
from tests.support.problems import PROBLEMS

# Chromium and its worker open the rest: test_offline.py, test_quality.py.
PAGES = [
    "/",
    "/mint",
    "/claim/{item_id}",
    "/offer/{offer_id}",
    "/wallet",
    "/door",
    "/till",
    "/item/{item_id}",
    "/item/deed_x",
    "/help",
    "/docs/",
    "/problems",
]

CLOSED = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
POLICIES = {
    "/docs/": f"{CLOSED}; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'",
    "/problems": f"{CLOSED}; style-src 'self'; img-src 'self'; manifest-src 'self'",
}
OUR_POLICY = (
    f"{CLOSED}; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data: https: http:; "
    "worker-src 'self'; manifest-src 'self'; "
    "require-trusted-types-for 'script'; trusted-types deeds-offline"
)

TYPES = MEDIA_TYPES | {".webmanifest": "application/manifest+json"}
LOADING = ("link", "script", "img")


@pytest.fixture
def pages(api):
    """The answers to requests for all pages, by path."""
    item_id = api.mint("+1.a")
    offer_id = api.offer_id([], [fresh(1, item_id)])
    return {
        path: api.get(path.format(item_id=item_id, offer_id=offer_id)) for path in PAGES
    }


def test_pages_have_a_strict_policy_and_nothing_inline(pages):
    for path, page in pages.items():
        policy = POLICIES.get(path, OUR_POLICY)
        assert page.headers["Content-Security-Policy"] == policy
        html = read_page(page)
        attributes = {name for each in html.iter() for name in each.attrib}
        assert [name for name in attributes if name.startswith(("on", "style"))] == []
        assert html.find(".//style") is None
        assert [each for each in html.iter("script") if (each.text or "").strip()] == []


def test_pages_load_files_of_this_service_only(api, pages):
    addresses = set()
    for page in pages.values():
        for element in read_page(page).iter():
            if element.tag in LOADING and element.get("rel") != "canonical":
                addresses.add(element.get("src") or element.get("href"))
    addresses.discard(None)

    for address in addresses:
        file = api.get(address)
        assert file.status_code == 200
        assert file.headers["Content-Type"] == TYPES[PurePath(address).suffix]


@pytest.mark.parametrize("path", ["/", "/sw.js"])
def test_text_is_compressed_on_request_and_sent_again_only_when_changed(api, path):
    plain = api.get(path, **{"Accept-Encoding": "gzip;q=0"})
    tag = plain.headers["ETag"]

    squeezed = api.get(path, **{"Accept-Encoding": "br, gzip;q=0.5"})
    again = api.get(path, **{"Accept-Encoding": "identity", "If-None-Match": tag})

    assert "Content-Encoding" not in plain.headers
    assert squeezed.headers["Content-Encoding"] == "gzip"
    assert squeezed.content == plain.content
    assert "Accept-Encoding" in squeezed.headers["Vary"]
    assert squeezed.headers["ETag"] != tag
    assert (again.status_code, again.content) == (304, b"")


def test_answers_with_secrets_and_large_pictures_are_not_compressed(api):
    image = "data:image/png;base64," + "A" * 100_000
    body = {"outputs": ["+1.a"], "metadata": {"image": image}}

    # The client accepts what is compressed.
    minted = api.post("/v1/mint", body)
    codes = api.post("/web/qr", {"texts": ["a" * 500]})
    page = api.get(f"/item/{minted.json()['itemId']}")

    answers = [minted, codes, page]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [each for each in answers if "Content-Encoding" in each.headers] == []


def test_a_file_may_be_kept_for_good_under_its_address(api):
    static = read_static_files()
    kept = "public, max-age=31536000, immutable"

    answers = {name: api.get(static.url(name)) for name in static.by_name}

    assert {name: each.content for name, each in answers.items()} == static.by_name
    for name, answer in answers.items():
        assert answer.headers["Content-Type"] == MEDIA_TYPES[PurePath(name).suffix]
        assert answer.headers["Cache-Control"] == kept


def test_nothing_else_is_served_and_nothing_of_another_release(api):
    version = read_static_files().version
    paths = [
        "/docs/index.html",
        "/web/0123456789abcdef/css/base.css",
        f"/web/{version}/..%2Fpages.py",
        f"/web/{version}/css/base.css%00",
    ]

    answers = [api.get(path) for path in paths]

    assert [each.status_code for each in answers] == [404] * 4
    assert [each.json()["code"] for each in answers] == ["not_found"] * 4


def test_without_offers_there_is_no_page_of_one(sqlite_url):
    app = create_app(read_settings(environ_of(sqlite_url)), parts=("pages",))
    with closing(app.extensions["deeds"]):
        api = Api.of_app(app)
        answers = [api.get(path, Accept="text/html") for path in ("/offer", "/offer/x")]
        worker = api.get("/sw.js").text

    assert [each.status_code for each in answers] == [404, 404]
    said = "There is no page at this address"
    assert all(said in each.text for each in answers)
    assert '"/claim"' in worker
    assert '"/offer"' not in worker.partition("\n")[0]


def static_files_of(directory, texts):
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_static_files(directory)


def test_any_change_of_any_file_changes_all_addresses(tmp_path):
    releases = {
        "one": {"css/base.css": "a{}", "js/a.js": "b", "js/b.js": ""},
        "other texts": {"css/base.css": "a{}", "js/a.js": "", "js/b.js": "b"},
        "another name": {"css/base.css": "a{}", "js/a.js": "b", "js/c.js": ""},
    }

    versions = {
        static_files_of(tmp_path / name, texts).version
        for name, texts in releases.items()
    }

    assert len(versions) == 3


@pytest.mark.parametrize(
    ("contact", "shown"),
    [
        ("", None),
        ("https://help.example/us?a=1&b=2", "help.example/us?a=1&amp;b=2</a>"),
        ("Ann <at the bar>, Tel: +49", "<bdi>Ann &lt;at the bar&gt;, Tel: +49</bdi>"),
    ],
)
def test_help_says_whom_to_ask_where_the_operator_is_named(open_api, contact, shown):
    page = open_api(DEEDS_CONTACT=contact).get("/help").text

    said = page.partition("Questions about this service: ")[2]
    assert (shown in said.partition("</p>")[0]) if shown else not said


def test_a_name_of_mixed_alphabets_is_marked_on_the_page_of_its_deed(api):
    said = "This name mixes alphabets: it may imitate another name."

    for name, is_mixed in [
        ("G\u0430rden Concert", True),
        ("G\u200b\u0430\u200brden C\u034fo\u034fncert", True),
        ("C\u034f\u043e\u034fncert", True),
        ("Garden Концерт Ωδή", False),
    ]:
        item_id = api.mint("+5.a", metadata={"name": name})
        page = api.http.get(f"/item/{item_id}", headers={"Accept": "text/html"}).text
        assert (said in page) is is_mixed
        assert page.count('translate="no"') == 3


def test_every_problem_is_on_the_page_that_its_type_names(api):
    page = read_page(api.get("/problems"))

    ids = [each.get("id") for each in page.iter()]
    said = "".join(page.itertext())
    assert [code for code in PROBLEMS if ids.count(code) != 1] == []
    meanings = [each.meaning for each in PROBLEMS.values()]
    assert [meaning for meaning in meanings if meaning not in said] == []
