"""A report as JSON: its file in a target's folder, in the form of `report.schema.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olympus.artifact import indented
from olympus.errors import ArtifactError
from olympus_cli.reports.build_report import SCHEMA_VERSION, Report
from olympus_cli.reports.versioned_json import read_json
from olympus_cli.text.paths import display_path

REPORT = "report.json"  # its name in a target's folder
PAGE = "report.html"  # the name of the page beside it


def render_json(report: Report) -> str:
    """Return the text of `report.json`."""
    return indented(report.to_data()) + "\n"


def write_report(report: Report, folder: Path) -> Path:
    """Write the file of a report into `folder`; return its path."""
    path = folder / REPORT
    path.write_text(render_json(report), encoding="utf-8")
    return path


def has_report(folder: Path) -> bool:
    """Return True if `folder` has a file of a report, or a link in its place."""
    return os.path.lexists(folder / REPORT)


def reports_below(folder: Path) -> Iterator[Path]:
    """Yield the files of reports in `folder` and below it."""
    return (path for path in folder.rglob(REPORT) if path.is_file())


_REBUILD = "olympus build writes the outputs of a target again, olympus compile those of an entry"


def read_report(folder: Path) -> Report:
    """Read the report in `folder`.

    Raises:
        ArtifactError: the file cannot be read, or is not a report.
        NewerSchema: the file has a newer version of the schema.
        OlderSchema: the file has an older version.
    """
    path = folder / REPORT
    try:
        data = read_json(path, SCHEMA_VERSION)
    except ArtifactError as error:
        error.hint = error.hint or _REBUILD
        raise
    try:
        return Report.from_data(data)
    except ValueError as error:
        message = f"{display_path(path)} is not a build report: {error}"
        raise ArtifactError(message, hint=_REBUILD) from error


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `report.json`, as shipped with the package."""
    return _shipped("report.schema.json")


def error_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document of a failed command, as shipped with the package."""
    return _shipped("error.schema.json")


def _shipped(name: str) -> dict[str, Any]:
    from importlib.resources import files  # which takes long to import, and few commands need it

    text = (files("olympus_cli.reports") / name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
