"""`olympus history`: what the figures of targets were, commit by commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from olympus.errors import UsageError
from olympus_cli.gate_reports.gate_report import GateReport
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.history.exchange.files import FORMATS, Format, exported, format_of, read_figures
from olympus_cli.history.page import render_history_page
from olympus_cli.history.points import Figure, Point, Run
from olympus_cli.history.query import chosen_points, history_file, history_of, moment_of
from olympus_cli.history.rendering import (
    LATEST,
    RUNS,
    describe_change,
    latest_rows,
    line_svg,
    line_text,
    run_rows,
)
from olympus_cli.history.series import History, latest_figures
from olympus_cli.history.store import append
from olympus_cli.options.shared import (
    Command,
    FilePath,
    WritablePath,
    gate_options,
    project_option,
    whole_number,
)
from olympus_cli.spec.resolve import open_project
from olympus_cli.terminal import console
from olympus_cli.terminal.output import write_file
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import counted

_LOOKED_AT = 20  # runs among which the one before, on the same machine, is looked for
_WIDE = 100  # columns of a plot where the terminal has more
_PAGE = ".html"
_PLOTS = (".svg", _PAGE)
_NOTHING = "the history has no such figures"


@click.command("history", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="Show this metric run by run, such as flops or steady-call; may be repeated.",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Without --metric, also show the times of builds, such as build-time.",
)
@click.option(
    "--since",
    metavar="DATE|REV",
    help="Show only figures since a date or a git revision.",
)
@click.option(
    "--limit",
    type=whole_number(1),
    default=50,
    show_default=True,
    metavar="N",
    help="Show the latest N runs of each metric.",
)
@click.option(
    "--plot",
    "picture",
    type=WritablePath(),
    metavar="FILE",
    help="Write the plot to FILE.svg, or the plots, tables and changes to FILE.html.",
)
@click.option(
    "--export",
    "exports",
    type=WritablePath(),
    metavar="FILE",
    help="Write the figures to FILE.csv or FILE.json.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Export in this format; the default is csv for .csv, and pytest-benchmark for .json.",
)
@click.option(
    "--import",
    "imports",
    type=FilePath(),
    metavar="FILE",
    help="Add the figures in FILE: CSV, or JSON of pytest-benchmark or hyperfine.",
)
@gate_options
def command(
    names: tuple[str, ...],
    project: str | None,
    metrics: tuple[str, ...],
    every: bool,
    since: str | None,
    limit: int,
    picture: Path | None,
    exports: Path | None,
    form: Format | None,
    imports: Path | None,
    outputs: Outputs,
) -> None:
    """Without --metric, show the latest figures and their change from the run before.

    \b
    Examples:
      olympus history
      olympus history forward --metric flops --metric steady-call --since HEAD~20
      olympus history --metric build-time --plot build-time.html
      olympus history --export figures.csv
      olympus history --import benchmarks.json
    """
    _check_options(names, metrics, picture, exports, form, imports)
    if every and (metrics or exports is not None or imports is not None):
        raise UsageError("--all cannot be combined with --metric, --export or --import")
    opened = open_project(project)
    path = history_file(opened)
    metrics = tuple(dict.fromkeys(metrics))
    if imports is not None:
        _write(_imported(path, imports), outputs)
        return
    moment = moment_of(since, opened.root)
    if exports is not None:
        points = chosen_points(path, names, metrics, None)
        selected = [point for point in points if point.run.moment >= (moment or "")]
        _write(_exported(selected, exports, form), outputs)
        return
    if not metrics:
        if picture is not None:
            with console.progress("reading the history"):
                whole = history_of(path, names, (), moment, limit)
            _draw(whole if every else whole.without_builds(), picture)
        points = chosen_points(path, names, (), _LOOKED_AT)
        _write(_latest(latest_figures(str(path), points, moment, every=every)), outputs)
        return
    with console.progress("reading the history"):
        history = history_of(path, names, metrics, moment, limit)
    if picture is not None:
        _draw(history, picture)
    _show(history, outputs)


def _check_options(
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    picture: Path | None,
    exports: Path | None,
    form: Format | None,
    imports: Path | None,
) -> None:
    """Raise UsageError for options that do not go together, before anything is read."""
    if exports is not None and imports is not None:
        raise UsageError("--export cannot be combined with --import")
    if imports is not None and (names or metrics):
        raise UsageError("--import adds all figures of a file; it takes no target and no --metric")
    if form is not None and exports is None:
        raise UsageError("--format needs --export FILE", hint="--import detects the format")
    if picture is None:
        return
    if exports is not None or imports is not None:
        raise UsageError("--plot cannot be combined with --export or --import")
    if picture.suffix not in _PLOTS:
        raise UsageError(
            f"--plot {display_path(picture)}: the name must end in {' or '.join(_PLOTS)}"
        )
    if not metrics and picture.suffix != _PAGE:
        raise UsageError(
            "--plot FILE.svg needs --metric M, the metric to draw",
            hint=f"--plot FILE{_PAGE} writes all figures",
        )


def _latest(document: dict[str, Any]) -> GateReport:
    """The latest figures, and how many of builds are not among them."""
    table = "", LATEST, tuple(latest_rows(document))
    left_out = document["left_out"]
    note = f"left out: {counted(left_out, 'figure')} of builds; --all shows all"
    return GateReport("history", (), (table,), document, (note,) if left_out else ())


def _imported(path: Path, source: Path) -> GateReport:
    imported: dict[str, tuple[Run, list[Figure]]] = {}
    points = read_figures(source)
    for point in points:
        imported.setdefault(point.run.key, (point.run, []))[1].append(point.figure)
    runs, figures = append(path, [*imported.values()])
    document = {
        "file": str(path),
        "imported": str(source),
        "figures": len(points),
        "new_runs": runs,
        "new_figures": figures,
    }
    summary = f"{display_path(source)}: {counted(len(points), 'figure')}, {figures} new"
    return GateReport("history", (), (), document, (summary,))


def _exported(points: list[Point], target: Path, form: Format | None) -> GateReport:
    chosen = format_of(target, form)
    text, written = exported(points, chosen)
    write_file(target, text)
    document = {"exported": str(target), "format": chosen, "figures": written}
    left_out = len(points) - written
    summary = counted(written, "figure")
    if left_out:
        summary += f"; {counted(left_out, 'figure')} left out: {chosen} has only the latest times"
    return GateReport("history", (), (), document, (summary,))


def _draw(history: History, picture: Path) -> None:
    if picture.suffix == _PAGE:
        write_file(picture, render_history_page(history))
        return
    if len(history.lines) != 1:
        raise UsageError(
            f"an SVG has one plot, and {len(history.lines)} are selected",
            hint="name one target and one metric, or write FILE.html",
        )
    write_file(picture, line_svg(history.lines[0]))


def _write(report: GateReport, outputs: Outputs) -> None:
    """Write the report, with a note if its table has no row."""
    if report.tables and not any(rows for _, _, rows in report.tables):
        report = replace(report, tables=(), notes=(*report.notes, _NOTHING))
    outputs.write(report)


def _report(history: History) -> GateReport:
    """Return the report: each line as a table, and its changes as notes."""
    return GateReport(
        command="history",
        cases=(),
        tables=tuple((line.title, *_filled(RUNS, run_rows(line))) for line in history.lines),
        document=history.to_data(),
        notes=tuple(filter(None, _changes(history))),
    )


def _changes(history: History) -> list[str]:
    """The text on the changes of each line; empty where it has none."""
    return [
        "\n".join(describe_change(line, reasons))
        for line, reasons in zip(history.lines, history.reasons, strict=True)
    ]


def _filled(
    columns: Sequence[str], rows: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns that have something in a row, and the rows with these alone."""
    filled = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    short = tuple(tuple(row[i] for i in filled) for row in rows)
    return tuple(columns[i] for i in filled), short


def _show(history: History, outputs: Outputs) -> None:
    """Write each line as a table, a plot and notes on its changes."""
    report = _report(history)
    if outputs.shows_text:
        _print(history, report, outputs)
        report = replace(report, notes=() if history.lines else (_NOTHING,))
    outputs.write(report)


def _print(history: History, report: GateReport, outputs: Outputs) -> None:
    only_ascii = not console.can_write("\u28ff")
    width = min(console.width(), _WIDE)
    for number, (line, note) in enumerate(zip(history.lines, _changes(history), strict=True)):
        if number:
            console.data("")
        outputs.show(*report.tables[: number + 1])
        if len(line.points) > 1:
            console.data("\n" + line_text(line, width, only_ascii=only_ascii))
        if note:
            console.data(f"\n{note}")
