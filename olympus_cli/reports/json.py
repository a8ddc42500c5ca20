"""A report as JSON text, and back.

A `Report` enters and text in the form of `report.schema.json` leaves, or the other way round.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from olympus.errors import ArtifactError
from olympus_cli.reports.model import SCHEMA_VERSION, Report

__all__ = ["read_report", "render_json", "schema"]


def render_json(report: Report) -> str:
    """The text of `report.json`."""
    return json.dumps(report.to_data(), indent=2) + "\n"


def read_report(path: Path) -> Report:
    """The report in the file `path`.

    Raises:
        ArtifactError: the file is not a report, or one of another version of the schema.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        version = data["schema_version"]
        if version == SCHEMA_VERSION:
            return Report.from_data(data)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{path} is not a build report: {error}") from error
    raise ArtifactError(f"{path} has report schema {version}; this version reads {SCHEMA_VERSION}")


def schema() -> dict[str, Any]:
    """The JSON Schema of `report.json`, as shipped with the package."""
    text = (files("olympus_cli.reports") / "report.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
