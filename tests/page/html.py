"""Reads a page as a browser does, into elements that ElementTree can search."""

from html.parser import HTMLParser
from xml.etree.ElementTree import TreeBuilder

VOID = {"meta", "link", "img", "input", "br", "hr"}


def read_page(answer):
    """Return the root element of the page that an answer holds."""
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    reader = _Reader()
    reader.feed(answer.text)
    return reader.tree.close()


def preview(page):
    """Return what a page says of itself to those who show a link to it."""
    named = {
        meta.get("property") or meta.get("name"): meta.get("content")
        for meta in page.iter("meta")
    }
    return {
        name: named[name] for name in named if str(name).startswith(("og:", "twitter:"))
    }


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tree = TreeBuilder()

    def handle_starttag(self, tag, attrs):
        self.tree.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.tree.end(tag)

    def handle_endtag(self, tag):
        self.tree.end(tag)

    def handle_data(self, data):
        self.tree.data(data)
