"""A comparison as a page: both sides beside each other, in one file that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment

from olympus_cli.comparison.figures import figure_text
from olympus_cli.comparison.text import cost_cells, grouped, summary
from olympus_cli.reports.changes import plain_types, short_name
from olympus_cli.reports.shardings import spoken_name, spoken_value
from olympus_cli.reports.templating import page_environment

__all__ = ["render_page"]

_MOST_LINES = 50  # source lines whose cost changed
_MOST = 5000  # changes that the page tells; more make it slow to open


def render_page(document: Mapping[str, Any]) -> str:
    """The text of the file; the same comparison gives the same text.

    Example:
      >>> Path("forward.html").write_text(render_page(document), encoding="utf-8")
    """
    changes = document["changes"]
    text = (
        _environment()
        .get_template("comparison.html")
        .render(
            document=document,
            sides=document["sides"],
            groups=grouped(changes[:_MOST]),
            summary=summary(changes),
            omitted=max(0, len(changes) - _MOST),
            costs=[(*cost_cells(each), each["text"]) for each in document["lines"][:_MOST_LINES]],
            figures=[(each["name"], *figure_text(each)) for each in document["figures"]],
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # halves of surrogate pairs


@cache
def _environment() -> Environment:
    made = page_environment("olympus_cli.comparison")
    made.filters.update(short=short_name, plain=plain_types, spoken=spoken_name)
    made.globals.update(spoken_value=spoken_value)
    return made
