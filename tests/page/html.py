"""Reads a page as a browser does.

Its elements with their attributes, and the text within each.
"""

from html.parser import HTMLParser
from types import SimpleNamespace

VOID = {"meta", "link", "img", "input", "br", "hr"}


class Html(HTMLParser):
    """The elements of a page, in order; the `text` of one is all that stands in it."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self._open = []
        self.feed(text)

    def all(self, tag, **attributes):
        """Return the elements of this tag with these attributes; `_` stands for `-`."""
        wanted = {
            name.rstrip("_").replace("_", "-"): value
            for name, value in attributes.items()
        }
        return [
            element
            for element in self.elements
            if element.tag == tag and wanted.items() <= element.attributes.items()
        ]

    def one(self, tag, **attributes):
        [element] = self.all(tag, **attributes)
        return element

    def handle_starttag(self, tag, attrs):
        element = SimpleNamespace(tag=tag, attributes=dict(attrs), text="")
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data):
        for element in self._open:
            element.text += data
