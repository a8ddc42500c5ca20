"""The HTML page of `olympus diff`: two programs side by side, in one self-contained file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jinja2 import Environment

from olympus_cli.diff.comparison import ComparedChange, Comparison
from olympus_cli.diff.figure_changes import figure_text
from olympus_cli.diff.text import change_text, cost_cells, count_changes, grouped
from olympus_cli.reports.changes import plain_types, short_name
from olympus_cli.reports.groups import groups
from olympus_cli.reports.html.shell import shell, shell_environment
from olympus_cli.reports.shardings import spoken_name, spoken_value

_MAX_LINES = 50  # source lines whose cost changed
_MAX_CHANGES = 5000  # on the page; more make it slow to open


def render_diff_page(comparison: Comparison) -> str:
    """Return the HTML of a comparison; equal comparisons have equal HTML.

    Example:
      >>> Path("forward.html").write_text(render_diff_page(comparison), encoding="utf-8")
    """
    changes = comparison.changes
    text = (
        _environment()
        .get_template("comparison.html")
        .render(
            comparison=comparison,
            sides=comparison.sides,
            groups=[
                (heading, groups(in_place, change_text))
                for heading, in_place in grouped(changes[:_MAX_CHANGES]).items()
            ],
            shell=shell(),
            summary=count_changes(changes),
            omitted=max(0, len(changes) - _MAX_CHANGES),
            costs=[(*cost_cells(line), line.text) for line in comparison.lines[:_MAX_LINES]],
            figures=[(figure.name, *figure_text(figure)) for figure in comparison.figures],
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # for lone surrogates


def _operations_inside(changes: Sequence[ComparedChange]) -> int:
    """Return the number of operations in changes, including those of loops and functions.

    It is 0 if each change has one operation: the page then shows only the number of changes.
    """
    operations = sum(change.spot.operations if change.spot else 1 for change in changes)
    return operations if operations > len(changes) else 0


@cache
def _environment() -> Environment:
    environment = shell_environment("olympus_cli.diff")
    environment.filters.update(
        short=short_name, plain=plain_types, spoken=spoken_name, inside=_operations_inside
    )
    environment.globals.update(spoken_value=spoken_value)
    return environment
