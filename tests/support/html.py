"""Reads a page as a browser does: its elements with their attributes, and the text within each."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "input", "br", "hr"}


@dataclass(slots=True)
class Element:
    """One element; `text` is all that stands in it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass(slots=True)
class Html:
    """The elements of a page, in order."""

    elements: list[Element] = field(default_factory=list)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements of this tag with these attributes; `_` stands for `-`."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.elements
            if element.tag == tag and wanted.items() <= element.attributes.items()
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        """Return the only one."""
        [element] = self.all(tag, **attributes)
        return element

    def meta(self) -> dict[str, str | None]:
        """Return what the page says of itself to those who show a link to it."""
        found = {}
        for element in self.all("meta"):
            name = element.attributes.get("property") or element.attributes.get("name")
            if name and name.startswith(("og:", "twitter:")):
                assert name not in found, f"{name} stands twice"
                found[name] = element.attributes["content"]
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.html = Html()
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.html.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data


def read_html(text: str) -> Html:
    """Return the elements of a page."""
    reader = _Reader()
    reader.feed(text)
    return reader.html
