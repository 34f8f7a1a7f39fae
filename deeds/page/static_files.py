"""The files that the pages load, read once, under addresses that change when any of them does.

So a browser keeps them for good and asks for none of them again, and the modules of two releases
are never mixed.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, normpath

STATIC = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# The ways in which one of our modules names another; a name may stand lines below its keyword.
_IMPORT = re.compile(
    r"""^(?:import|export)\b[^"';]*["'](\.\.?/[a-z0-9_./]+\.js)["']""", re.MULTILINE
)

# 64 bits: enough to tell releases apart.
_VERSION_LENGTH = 16


@dataclass(frozen=True, slots=True)
class StaticFile:
    """What a file holds and what kind of file it is."""

    content: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """All files by their names, such as `js/ui/dom.js`, and what tells this set from others."""

    version: str
    by_name: Mapping[str, StaticFile]
    # The names of all modules that a page needs, by page: it names them at once, so that a browser
    # need not read one to ask for the next.
    modules: Mapping[str, tuple[str, ...]]

    def url(self, name: str) -> str:
        """Return the address of a file."""
        return f"/web/{self.version}/{name}"


def read_static_files(directory: Path = STATIC) -> StaticFiles:
    """Return the files below a directory. The scripts of pages are `js/pages/<page>/page.js`."""
    paths = {str(path.relative_to(directory)): path for path in sorted(directory.rglob("*"))}
    by_name = {
        name: StaticFile(path.read_bytes(), _MEDIA_TYPES[path.suffix])
        for name, path in paths.items()
        if path.suffix in _MEDIA_TYPES
    }
    parts = (part for name, each in by_name.items() for part in (name.encode(), each.content))
    # Each part by its own digest, so that no two sets run together to the same bytes.
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    version = hashlib.sha256(digests).hexdigest()[:_VERSION_LENGTH]
    scripts = {name.split("/")[-2]: name for name in by_name if name.endswith("/page.js")}
    modules = {page: _modules_of(name, by_name) for page, name in scripts.items()}
    return StaticFiles(version, by_name, modules)


def _modules_of(name: str, by_name: Mapping[str, StaticFile]) -> tuple[str, ...]:
    """Return a module and all that it imports, near ones first."""
    found = [name]
    for each in found:
        text = by_name[each].content.decode("utf-8")
        imported = (normpath(f"{dirname(each)}/{path}") for path in _IMPORT.findall(text))
        found += [module for module in dict.fromkeys(imported) if module not in found]
    return tuple(found)
