"""Runs `deeds doctor`, and parses its lines."""

from tests.support.commanding import invoke
from tests.support.sources import section, table_rows

SUBJECTS = {
    name.strip("`")
    for name, _ in table_rows(section("docs/operations/watching.md", "Doctor"))
}


def examined(environ, *options):
    """Return "state text" by subject; several lines of one subject are joined.

    Assert that the exit code is 1 if a line is "wrong", and 0 otherwise.
    """
    ran = invoke(environ, "doctor", *options)
    lines = lines_of(ran.stdout)
    is_wrong = any(line.startswith("wrong") for line in lines.values())
    assert ran.exit_code == is_wrong, ran.output
    return lines


def lines_of(printed):
    lines = {}
    for line in printed.splitlines():
        state, subject, text = line[:9].strip(), line[9:22].strip(), line[22:]
        assert line == f"{state:<8} {subject:<12} {text}"
        assert state in {"ok", "unknown", "wrong"}
        assert subject in SUBJECTS
        before = f"{lines[subject]}\n" if subject in lines else ""
        lines[subject] = f"{before}{state} {text}"
    return lines
