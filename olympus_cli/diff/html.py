"""The page of a comparison: both sides next to each other, in one self-contained file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment

from olympus_cli.diff.figure_changes import figure_text
from olympus_cli.diff.text import change_text, cost_cells, count_changes, grouped
from olympus_cli.reports.changes import plain_types, short_name
from olympus_cli.reports.groups import groups
from olympus_cli.reports.html.shell import shell, shell_environment
from olympus_cli.reports.shardings import spoken_name, spoken_value

_MOST_LINES = 50  # source lines whose cost changed
_MOST = 5000  # changes on the page; more make it slow to open


def render_diff_page(document: Mapping[str, Any]) -> str:
    """Return the text of the file; the same comparison gives the same text.

    Example:
      >>> Path("forward.html").write_text(render_diff_page(document), encoding="utf-8")
    """
    changes = document["changes"]
    text = (
        _environment()
        .get_template("comparison.html")
        .render(
            document=document,
            sides=document["sides"],
            groups=[
                (heading, groups(found, change_text))
                for heading, found in grouped(changes[:_MOST]).items()
            ],
            shell=shell(),
            summary=count_changes(changes),
            omitted=max(0, len(changes) - _MOST),
            costs=[(*cost_cells(each), each["text"]) for each in document["lines"][:_MOST_LINES]],
            figures=[(each["name"], *figure_text(each)) for each in document["figures"]],
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # for lone surrogates


def _inside(changes: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of operations in changes, with nested ones; 0 if each change has one."""
    spots = [each["after"] or each["before"] or {"operations": 1} for each in changes]
    found = sum(spot["operations"] for spot in spots)
    return found if found > len(changes) else 0


@cache
def _environment() -> Environment:
    environment = shell_environment("olympus_cli.diff")
    environment.filters.update(
        short=short_name, plain=plain_types, spoken=spoken_name, inside=_inside
    )
    environment.globals.update(spoken_value=spoken_value)
    return environment
