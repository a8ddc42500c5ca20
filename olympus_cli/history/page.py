"""A history as a page: the plot of each line, its changes and its runs, in one file."""

from __future__ import annotations

from markupsafe import Markup

from olympus_cli.history.series import History
from olympus_cli.history.telling import RUNS, change_lines, line_svg, run_rows
from olympus_cli.reports.templating import page_environment

__all__ = ["render_page"]


def render_page(history: History) -> str:
    """The text of the file, which loads nothing; the same history gives the same text."""
    lines = [
        {
            "title": line.title,
            "plot": Markup(line_svg(line)),  # every text in it is escaped
            "changes": "\n".join(change_lines(line, reasons, None)),
            "rows": run_rows(line),
        }
        for line, reasons in zip(history.lines, history.reasons, strict=True)
    ]
    template = page_environment("olympus_cli.history").get_template("history.html")
    text = template.render(file=history.file, lines=lines, columns=RUNS)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # halves of surrogate pairs
