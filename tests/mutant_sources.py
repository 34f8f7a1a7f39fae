"""The mutants that there are, and what each of them changes."""

import ast
import difflib
import json
import re
import subprocess
import sys
from functools import cache

from tests.serving import REPOSITORY
from tests.statement_mutants import PREFIX, SOURCE, STATEMENT_MUTANTS, statement_mutant_source

# mutmut's copy of the sources, with every mutant in it; we may be in it ourselves.
MUTANTS = REPOSITORY if any(REPOSITORY.glob("*/*.py.meta")) else REPOSITORY / "mutants"


def make_mutants():
    """Let mutmut write the mutated copy of the sources, without judging them."""
    code = (
        "from mutmut import __main__ as m; m.set_mutant_under_test('mutant_generation'); "
        "m.Path('mutants').mkdir(exist_ok=True); m.copy_src_dir(); m.copy_also_copy_files(); "
        "m.setup_source_paths(); m.create_mutants(1)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, capture_output=True)


def mutant_names():
    metas = sorted(MUTANTS.rglob("*.py.meta"))
    names = [name for meta in metas for name in json.loads(meta.read_text())["exit_code_by_key"]]
    return names + [PREFIX + name for name in STATEMENT_MUTANTS]


def module_of(name):
    return PREFIX[:-1] if name.startswith(PREFIX) else name.rpartition(".")[0]


def broken_part(name):
    """Return what of the sources the mutant is in: a function or, of the SQL, a statement."""
    if name.startswith(PREFIX):
        return re.match(f"{PREFIX}\\w+", name)[0]
    return name.rpartition("__mutmut_")[0]


def sources_of(name):
    """Return what the mutant breaks, whole and broken."""
    if name.startswith(PREFIX):
        return SOURCE.read_text(encoding="utf-8"), statement_mutant_source(name)
    module, _, function = name.rpartition(".")
    functions = _functions(module)
    return functions[function.rpartition("_")[0] + "_orig"], functions[function]


def change_of(name):
    """Return the lines that the mutant changes, as they were and as they are."""
    whole, broken = (source.splitlines() for source in sources_of(name))
    lines = list(difflib.unified_diff(whole, broken, lineterm="", n=0))[2:]
    return [line for line in lines if "__mutmut_" not in line and not line.startswith("@@")]


def title_of(name):
    """Return what the mutant is called in the document: there, numbers would soon be wrong."""
    if name.startswith(PREFIX):
        return name.replace(PREFIX, f"{module_of(name)}: ")
    lines = change_of(name)
    new = [line[1:].strip() for line in lines if line.startswith("+")]
    old = ["without", *(line[1:].strip() for line in lines)]
    return f"{module_of(name)}: {' '.join(new or old)}"


@cache
def _functions(module):
    """Return the sources of all functions of a mutated module by their names."""
    text = (MUTANTS / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
