"""A gate's report as Markdown for GitHub and GitLab: the problems, then tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from olympus_cli.gate_reports.gate_report import WORDS, Case, GateReport, Word
from olympus_cli.text.escaping import visible
from olympus_cli.text.paths import display_place

# The marks of GitHub Flavored Markdown, including those of mathematics and HTML.
_MARKS = re.compile(r"[\\`*_\[\]|~$#]")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CUT = "\n\nThe report is cut off here: it is too long.\n"


def render_markdown(report: GateReport, most: int | None = None) -> str:
    """Return the Markdown; if it is longer than `most` bytes, it is cut at the end of a line.

    The counts of the verdicts and the failed cases come before the tables.
    """
    text = "\n".join(_lines(report)) + "\n"
    content = text.encode()
    if most is None or len(content) <= most:
        return text
    room = most - len(_CUT.encode())
    whole, end, _ = content[: max(room, 0)].rpartition(b"\n")
    return (whole + end).decode() + _CUT if end else ""


def _lines(report: GateReport) -> Iterator[str]:
    counts = Counter(case.verdict for case in report.cases)
    verdicts = ", ".join(
        f"{counts[word]} {_counted(word, counts[word])}" for word in WORDS if counts[word]
    )
    yield f"## olympus {report.command}: {verdicts or 'nothing was judged'}"
    problems = [case for case in report.cases if case.verdict not in ("passed", "skipped")]
    if problems:
        problems.sort(key=lambda case: WORDS.index(case.verdict))
        columns = ("verdict", "target", "gate", "where", "what is wrong")
        yield from _table("", columns, [_row(case) for case in problems])
    if report.text is not None:
        yield from _fenced(report.text)
    else:
        for table in report.tables:
            yield from _table(*table)
    remarks = [f"warning: {remark.text}" for remark in report.warnings]
    remarks += [f"note: {remark}" for remark in report.notes]
    if remarks:
        yield ""
        yield from (f"- {_escaped(remark)}" for remark in remarks)


def _counted(word: Word, count: int) -> str:
    """Return the word after a count: only "error" has a plural."""
    return "errors" if word == "error" and count != 1 else word


def _row(case: Case) -> tuple[str, ...]:
    where = "\n".join(map(display_place, case.places))
    return case.verdict, case.target, f"{case.gate} {case.name}", where, case.message


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    if title:
        yield f"### {_escaped(title)}"
        yield ""
    yield _cells(columns)
    yield "| " + " | ".join("---" for _ in columns) + " |"
    yield from map(_cells, rows)


def _cells(row: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, row)) + " |"


def _escaped(text: str) -> str:
    """Return the text in one line, with Markdown and HTML escaped."""
    shown = re.sub("[&<>]", lambda match: _HTML[match[0]], visible(text))
    return _MARKS.sub(r"\\\g<0>", shown).replace("\t", " ").replace("\n", "<br>")


def _fenced(text: str) -> Iterator[str]:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from ("", f"{fence}text", visible(text).rstrip("\n"), fence)
