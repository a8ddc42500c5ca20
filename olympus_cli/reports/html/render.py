"""The text of `report.html`, from the page that it shows.

Everything is in the one file: style, script, the drawing library, and the programs, compressed,
which the browser inflates when they are looked at.  A Content-Security-Policy forbids it to load
anything, and to run any other script.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from olympus_cli.reports.build_report import Report
from olympus_cli.reports.groups import buffer_groups, buffer_text, kernel_groups, plain_name
from olympus_cli.reports.html.calls import call_graph
from olympus_cli.reports.html.charts import memory_chart, roofline_chart
from olympus_cli.reports.html.listing import Listing
from olympus_cli.reports.html.page import BackendPage, Page
from olympus_cli.reports.html.shell import asset, shell, shell_environment
from olympus_cli.reports.html.source import Fold, annotated_files, line_id
from olympus_cli.reports.json import PAGE
from olympus_cli.reports.program_figures import padded_text, unknown_text
from olympus_cli.reports.text import axes_text
from olympus_cli.reports.torus import torus_rows
from olympus_cli.text.escaping import visible
from olympus_cli.text.units import array_type, byte_size, count, duration

_PACKAGE = "olympus_cli.reports.html"
_STYLES = ("uplot.css", "report.css", "code.css")
_SCRIPTS = (
    *("uplot.js", "page.js", "tables.js", "grammar.js", "listing.js", "charts.js"),
    "start.js",
)
_LEVEL = 6  # of zlib: 9 takes three times as long for a few percent


def render_html(page: Page) -> str:
    """Return the text of the file; the same page gives the same text.

    Example:
      >>> Path("report.html").write_text(render_html(page), encoding="utf-8")
    """
    licence = f"/*! uPlot:\n{asset('uplot.LICENSE')}\n*/"  # required in every copy
    text = (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            backends=[_backend(page, backend) for backend in page.backends],
            warnings=_other_warnings(page.report),
            olympuspr=_packed_listing(page.olympuspr, page),
            shell=shell(_STYLES, _SCRIPTS, licence),
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # halves of surrogate pairs


def write_page(page: Page, folder: Path) -> Path:
    """Write the file of a page into `folder`; return its path."""
    path = folder / PAGE
    path.write_text(render_html(page), encoding="utf-8")
    return path


def _backend(page: Page, backend: BackendPage) -> dict[str, Any]:
    """Return the variables of a backend's template."""
    report = backend.report
    estimate = report.estimate
    roofline = roofline_chart(estimate, backend.roof) if estimate and backend.roof else None
    memory = memory_chart(backend.timeline, backend.roof)
    files = annotated_files(report.cost, page.sources)
    return {
        "report": report,
        "roof": backend.roof,
        "measured": backend.measured,
        "calls": call_graph(backend.stacks),
        "kernels": kernel_groups(backend.kernels or estimate.kernels) if estimate else [],
        "buffers": buffer_groups(backend.buffers or report.memory.largest),
        "files": files,
        "places": {file.path: file.number for file in files},
        "charts": _packed({"roofline": roofline, "memory": memory}),
        "has_roofline": roofline is not None,
        "has_timeline": memory is not None,
        "listings": [
            (listing, _packed_listing(listing, page))
            for listing in (backend.stablehlo, backend.optimized)
        ],
    }


def _other_warnings(report: Report) -> list[str]:
    """Return the warnings without those about uncounted parts, which the summary shows."""
    shown = [unknown_text(part) for backend in report.backends for part in backend.cost.unknown]
    return [warning for warning in report.warnings if not any(text in warning for text in shown)]


def _packed_listing(listing: Listing, page: Page) -> str:
    data = asdict(listing)
    data["lines"] = visible("\n".join(listing.lines))
    data["marks"] = [(mark.scope, page.short(mark.file), mark.line) for mark in listing.marks]
    return _packed(data)


def _packed(data: Any) -> str:
    """Return data as JSON, compressed as zlib does, in base64."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), _LEVEL)).decode()


def _bars(counts: Mapping[str, int]) -> list[tuple[str, int, float]]:
    """Counts by name, the greatest first, each with its part of the greatest in percent."""
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    most = rows[0][1] if rows else 1
    return [(name, number, 100 * number / most) for name, number in rows]


@cache
def _environment() -> Environment:
    environment = shell_environment(_PACKAGE)
    environment.keep_trailing_newline = True
    environment.filters.update(count=count, size=byte_size, time=duration, share=_share, bars=_bars)
    environment.filters.update(axes=axes_text, plain_name=plain_name, sum_product=_sum_product)
    environment.filters.update(buffer_text=buffer_text)
    environment.tests["fold"] = lambda part: isinstance(part, Fold)
    environment.globals.update(array_type=array_type, line_id=line_id)
    environment.globals.update(padded_text=padded_text, torus_rows=torus_rows)
    return environment


def _sum_product(rows: Sequence[Any], figure: str, times: str) -> int:
    """Return the sum of a figure of rows, each multiplied by its field `times`."""
    return sum(getattr(row, figure) * getattr(row, times) for row in rows)


def _share(part: float) -> str:
    """Return a part of a whole in percent.

    >>> _share(0.123), _share(0.00001), _share(0.0)
    ('12.3%', '<0.1%', '0%')
    """
    if part <= 0:
        return "0%"
    return f"{100 * part:.1f}%" if part >= 0.001 else "<0.1%"
