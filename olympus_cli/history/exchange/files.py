"""Files of figures: detection of their format by content, and export."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from olympus.errors import ArtifactError, UsageError
from olympus.files import parse_json, read_regular
from olympus_cli.history.exchange.hyperfine import read_results
from olympus_cli.history.exchange.pytest_benchmark import read_benchmarks, write_benchmarks
from olympus_cli.history.exchange.records import spread_of
from olympus_cli.history.exchange.table import NEEDED, read_table, write_table
from olympus_cli.history.points import Point, utc_text
from olympus_cli.text.paths import display_path

Format = Literal["csv", "pytest-benchmark"]
FORMATS: tuple[Format, ...] = ("csv", "pytest-benchmark")
_MAX_BYTES = 64 * 2**20


def format_of(path: Path, requested: Format | None) -> Format:
    """Return the format for writing a file: `requested`, or the format of the file's suffix.

    Raises:
        UsageError: neither determines a format.
    """
    if requested is not None:
        return requested
    if path.suffix == ".csv":
        return "csv"
    if path.suffix == ".json":
        return "pytest-benchmark"
    raise UsageError(
        f"the suffix of {display_path(path)} is not that of a format",
        hint=f"--format takes {', '.join(FORMATS)}",
    )


def exported(points: Sequence[Point], form: Format) -> tuple[str, int]:
    """Return the text of a file with the points, and the number of points in it.

    A table has all points. pytest-benchmark has one run, and times only: its file has the latest
    point of each series whose spread of samples is known.

    Raises:
        UsageError: the format can represent none of the points.
    """
    if form == "csv":
        return write_table(points), len(points)
    latest: dict[tuple[str, str, str], Point] = {}
    for point in points:
        figure = point.figure
        if figure.unit == "s" and figure.is_measured and spread_of(figure) is not None:
            latest[figure.target, figure.backend, figure.metric] = point
    if not latest:
        raise UsageError(
            f"a file of {form} has measured times only, and none is selected",
            hint="--format csv writes every figure",
        )
    return json.dumps(write_benchmarks([*latest.values()]), indent=2) + "\n", len(latest)


def read_figures(path: Path) -> list[Point]:
    """Return the points in a file; the format does not depend on the file's name.

    Raises:
        UsageError: the file cannot be read.
        ArtifactError: the file has none of the formats, or an error in its content.
    """
    content, changed = _content(path)
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip()[:1] not in ("{", "["):
            return read_table(text)
        return _of_document(_document(text), content, changed)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(
            f"{display_path(path)} cannot be imported: {error}",
            hint="files of pytest-benchmark and hyperfine (JSON) are taken, and CSV with the "
            f"columns {', '.join(NEEDED)}",
        ) from error


def _content(path: Path) -> tuple[bytes, float]:
    """Return the bytes of a file, and the time of its last change."""
    try:
        return read_regular(path, _MAX_BYTES), os.stat(path).st_mtime
    except OSError as error:
        raise UsageError(f"{display_path(path)} cannot be read: {error.strerror}") from error


def _document(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON that can be read: {error}") from error


def _of_document(document: Any, content: bytes, changed: float) -> list[Point]:
    if isinstance(document, dict) and "benchmarks" in document:
        return read_benchmarks(document)
    if isinstance(document, dict) and "results" in document:
        time = utc_text(datetime.fromtimestamp(changed, UTC))
        return read_results(document, time, hashlib.sha256(content).hexdigest())
    raise ValueError("it has neither the benchmarks of pytest-benchmark nor hyperfine's results")
