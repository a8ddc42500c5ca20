"""The JSON Schema of `report.json`, generated from the types of its records.

The shipped file `report.schema.json` has it: `pytest tests/cli/reports --update-golden` writes it.
"""

from __future__ import annotations

from typing import Any

from olympus.analysis import Collective, CostRow
from olympus.files import SCHEMA_DIALECT, RecordSchemas, SchemaConstraints
from olympus_cli.reports.build_report import (
    REPORT_FORMS,
    SCHEMA_VERSION,
    BackendReport,
    BlockReport,
    OutputFile,
    Report,
)
from olympus_cli.text.option_values import OPTIMIZE

_DIGEST = {"pattern": "^[0-9a-f]{64}$"}
_COUNTS = {"additionalProperties": {"type": "integer", "minimum": 1}}

#: The constraints on values that their types do not express, by record and key.
_CONSTRAINTS: SchemaConstraints = {
    Report: {
        "target": {"minLength": 1},
        "entry": {"minLength": 1},
        "versions": {"required": ["olympus", "jaxlib", "python"]},
        "optimize": {"enum": list(OPTIMIZE)},
        "backends": {"minItems": 1},
        "ops": _COUNTS,
    },
    BackendReport: {
        "name": {"enum": ["cpu", "gpu", "tpu"]},
        "key": _DIGEST,
        "devices": {"minimum": 1},
        "ops": _COUNTS,
    },
    BlockReport: {
        "name": {"minLength": 1},
        "equations": {"minimum": 1},
        "occurrences": {"minimum": 2},
    },
    OutputFile: {"path": {"minLength": 1}, "sha256": _DIGEST},
    CostRow: {"share": {"maximum": 1}},
    Collective: {"devices": {"minimum": 1}},
}


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of `report.json`."""
    schemas = RecordSchemas(REPORT_FORMS, _CONSTRAINTS)
    report = schemas.record(Report)
    return {
        "$schema": SCHEMA_DIALECT,
        "$id": f"olympus-report-{SCHEMA_VERSION}",
        "title": "OLYMPUS build report",
        **report,
        "description": f"{report['description']} Sizes are in bytes, times in seconds, and counts "
        "are for one call; null is unknown.",
        "required": ["schema_version", *report["required"]],
        "properties": {"schema_version": {"const": SCHEMA_VERSION}, **report["properties"]},
        "$defs": schemas.definitions,
    }
