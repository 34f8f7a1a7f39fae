"""Bundles the script of a page with the modules that it imports."""

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from posixpath import dirname, normpath

# The only forms of imports and exports in our modules, as prettier formats them.
_IMPORT = re.compile(
    r"""^import \{([^}]*)\} from "(\.\.?/[a-z0-9_./]+\.js)";$""", re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?=(?:(?:async )?function|class|const) (\w+))", re.MULTILINE
)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def join_scripts(by_name: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the scripts of pages, each preceded by the modules that it needs."""
    imports: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for name, content in by_name.items():
        if name.startswith("js/"):
            imports[name], texts[name] = _read_module(name, content.decode())
    # For each module: the modules that it needs, in order, and itself.
    needs: dict[str, list[str]] = {}
    for name in TopologicalSorter(imports).static_order():
        before = [each for other in imports[name] for each in needs[other]]
        needs[name] = [*dict.fromkeys(before), name]
    return {
        name: "".join(texts[each] for each in needs[name]).encode()
        for name in texts
        if name.endswith("/page.js")
    }


def _read_module(name: str, text: str) -> tuple[list[str], str]:
    """Return the names of the imported modules, and the text for a bundle."""
    imports = []

    def destructure(statement: re.Match[str]) -> str:
        other = normpath(f"{dirname(name)}/{statement[2]}")
        imports.append(other)
        names = statement[1].replace(" as ", ": ")
        return f"const {{{names}}} = {_variable(other)};"

    body = _EXPORT.sub("", _IMPORT.sub(destructure, text))
    if other_way := _OTHER.search(body):
        raise ValueError(f"{name}: this cannot be joined: {other_way[0]}")
    exports = ", ".join(_EXPORT.findall(text))
    if not exports:
        # The page's own script, which is not wrapped, so it may have a top-level await.
        return imports, body
    function = f"(() => {{\n{body}return {{ {exports} }};\n}})()"
    return imports, f"const {_variable(name)} = {function};\n"


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name)
