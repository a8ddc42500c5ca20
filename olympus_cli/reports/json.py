"""A report as JSON text, and back.

A `Report` enters and text in the form of `report.schema.json` leaves, or the other way round.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from olympus.errors import ArtifactError
from olympus_cli.places import shown
from olympus_cli.reports.model import SCHEMA_VERSION, Report
from olympus_cli.reports.strict import read_json

__all__ = ["REPORT", "read_report", "render_json", "schema"]

REPORT = "report.json"  # its name in a target's folder


def render_json(report: Report) -> str:
    """The text of `report.json`."""
    return json.dumps(report.to_data(), indent=2) + "\n"


def read_report(path: Path) -> Report:
    """The report in the file `path`.

    Raises:
        ArtifactError: the file cannot be read, or is not a report.
        NewerSchema: it is one of a newer version of the schema.
    """
    data = read_json(path, SCHEMA_VERSION)
    try:
        return Report.from_data(data)
    except ValueError as error:
        raise ArtifactError(f"{shown(path)} is not a build report: {error}") from error


def schema() -> dict[str, Any]:
    """The JSON Schema of `report.json`, as shipped with the package."""
    text = (files("olympus_cli.reports") / "report.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
