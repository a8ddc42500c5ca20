"""A history as an HTML page: the plot of each line, its changes and its runs, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from olympus_cli.history.rendering import RUNS, describe_change, line_svg, run_rows, verdict
from olympus_cli.history.series import ChangeReason, History, Line
from olympus_cli.reports.html.shell import shell, shell_environment
from olympus_cli.text.units import quantity


def render_history_page(history: History) -> str:
    """Return the text of the page, which loads no other files and is deterministic."""
    lines = [
        _shown(line, reasons) for line, reasons in zip(history.lines, history.reasons, strict=True)
    ]
    template = shell_environment("olympus_cli.history").get_template("history.html")
    text = template.render(file=history.file, lines=lines, columns=RUNS, shell=shell())
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # escape lone surrogates


def _shown(line: Line, reasons: Sequence[ChangeReason]) -> dict[str, Any]:
    last = line.points[-1]
    values = [point.figure.value for point in line.points]
    return {
        "title": line.title,
        "latest": {"value": quantity(last.figure.value, line.unit), "commit": last.run.label},
        "verdict": verdict(line),
        "plot": Markup(line_svg(line)),  # every text in it is escaped
        "changes": "\n".join(describe_change(line, reasons, None)),
        "rows": list(zip(run_rows(line), values, strict=True)),
    }
