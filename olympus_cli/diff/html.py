"""The HTML page of `olympus diff`: two programs side by side, in one self-contained file."""

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

_MAX_LINES = 50  # source lines whose cost changed
_MAX_CHANGES = 5000  # on the page; more make it slow to open


def render_diff_page(document: Mapping[str, Any]) -> str:
    """Return the HTML of a comparison, which `document` has as JSON-like data.

    Equal comparisons have equal HTML.

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
                for heading, found in grouped(changes[:_MAX_CHANGES]).items()
            ],
            shell=shell(),
            summary=count_changes(changes),
            omitted=max(0, len(changes) - _MAX_CHANGES),
            costs=[(*cost_cells(each), each["text"]) for each in document["lines"][:_MAX_LINES]],
            figures=[(each["name"], *figure_text(each)) for each in document["figures"]],
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # for lone surrogates


def _operations_inside(changes: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of operations in changes, including those of loops and functions.

    It is 0 if each change has one operation: the page then shows only the number of changes.
    """
    sides = [change["after"] or change["before"] or {"operations": 1} for change in changes]
    operations = sum(side["operations"] for side in sides)
    return operations if operations > len(changes) else 0


@cache
def _environment() -> Environment:
    environment = shell_environment("olympus_cli.diff")
    environment.filters.update(
        short=short_name, plain=plain_types, spoken=spoken_name, inside=_operations_inside
    )
    environment.globals.update(spoken_value=spoken_value)
    return environment
