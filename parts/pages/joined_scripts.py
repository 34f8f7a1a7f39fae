"""The script of a page, with all modules that it imports joined before it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from posixpath import dirname, normpath

# What is joined imports and exports in these ways only, as prettier writes them.
_IMPORT = re.compile(
    r"""^import \{([^}]*)\} from "(\.\.?/[a-z0-9_./]+\.js)";$""", re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?=(?:(?:async )?function|class|const) (\w+))", re.MULTILINE
)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Module:
    # The names of the modules that it imports, and its text without `import`, `export`.
    imports: Sequence[str]
    exports: Sequence[str]
    body: str


def join_scripts(by_name: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the scripts of pages, each after the modules that it needs."""
    modules = {
        name: _read_module(name, content.decode())
        for name, content in by_name.items()
        if name.startswith("js/")
    }
    graph = {name: module.imports for name, module in modules.items()}
    in_order = list(TopologicalSorter(graph).static_order())
    return {
        name: _join_script(name, modules, in_order)
        for name in modules
        if name.endswith("/page.js")
    }


def _join_script(
    entry: str, modules: Mapping[str, _Module], in_order: Sequence[str]
) -> bytes:
    needed = {entry}
    for name in reversed(in_order):
        if name in needed:
            needed.update(modules[name].imports)
    texts = [_as_function(n, modules[n]) for n in in_order if n in needed - {entry}]
    return "".join([*texts, modules[entry].body]).encode()


def _as_function(name: str, module: _Module) -> str:
    exports = ", ".join(module.exports)
    return (
        f"const {_variable(name)} = (() => {{\n"
        f"{module.body}return {{ {exports} }};\n}})();\n"
    )


def _read_module(name: str, text: str) -> _Module:
    imports = []

    def destructure(found: re.Match[str]) -> str:
        other = normpath(f"{dirname(name)}/{found[2]}")
        imports.append(other)
        names = found[1].replace(" as ", ": ")
        return f"const {{{names}}} = {_variable(other)};"

    body = _EXPORT.sub("", _IMPORT.sub(destructure, text))
    if left := _OTHER.search(body):
        raise ValueError(f"{name}: this cannot be joined: {left[0]}")
    return _Module(imports, _EXPORT.findall(text), body)


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name)
