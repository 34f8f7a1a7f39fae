"""The files that the pages load, read once, under addresses that change when any of them does.

So a browser keeps them for good and asks for none of them again, and the modules of two releases
are never mixed. Must import nothing of the project.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import dirname, normpath

_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

# The ways in which one module of ours names another; a name may stand lines below its keyword.
_IMPORT = re.compile(
    r"""^(?:import|export)\b[^"';]*["'](\.\.?/[a-z0-9_./]+\.js)["']""", re.MULTILINE
)

# 64 bits: enough to tell releases apart.
_VERSION_LENGTH = 16


@dataclass(frozen=True, slots=True)
class StaticFile:
    """What a file holds and what kind of file it is."""

    content: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """All files by their names, such as `js/ui/dom.js`, and what tells this set from others."""

    version: str
    by_name: dict[str, StaticFile]
    # By the name of the first one: the files stay, and every page asks.
    _modules: dict[str, tuple[str, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def url(self, name: str) -> str:
        """Return the address of a file that there is."""
        if name not in self.by_name:
            raise KeyError(name)
        return f"/web/{self.version}/{name}"

    def modules_of(self, name: str) -> tuple[str, ...]:
        """Return a module and all that it imports, near ones first; nothing if there is none.

        A page names them all at once, so that a browser need not read one to ask for the next.
        """
        if name not in self._modules:
            self._modules[name] = self._find_modules(name)
        return self._modules[name]

    def _find_modules(self, name: str) -> tuple[str, ...]:
        found = [name] if name in self.by_name else []
        for each in found:
            text = self.by_name[each].content.decode("utf-8")
            imported = (normpath(f"{dirname(each)}/{path}") for path in _IMPORT.findall(text))
            found += [module for module in dict.fromkeys(imported) if module not in found]
        return tuple(found)


def read_static_files() -> StaticFiles:
    """Return the files of the package."""
    by_name = dict(sorted(_walk(files("deeds.page").joinpath("static"), "")))
    parts = (part for name, each in by_name.items() for part in (name.encode(), each.content))
    # Each part by its own digest, so that no two sets run together to the same bytes.
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return StaticFiles(hashlib.sha256(digests).hexdigest()[:_VERSION_LENGTH], by_name)


def _walk(directory: Traversable, above: str) -> Iterator[tuple[str, StaticFile]]:
    for entry in directory.iterdir():
        name = above + entry.name
        suffix = name.rpartition(".")[2]
        if entry.is_dir():
            yield from _walk(entry, f"{name}/")
        elif suffix in _MEDIA_TYPES:
            yield name, StaticFile(entry.read_bytes(), _MEDIA_TYPES[suffix])
