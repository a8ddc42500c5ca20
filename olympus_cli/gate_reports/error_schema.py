"""The JSON Schema of the document of a failed command, generated from the types of its records.

The shipped file `reports/error.schema.json` has it: `pytest tests/cli/gate_reports --update-golden`
writes it.
"""

from __future__ import annotations

from typing import Any

from olympus.files import SCHEMA_DIALECT, RecordSchemas, SchemaConstraints
from olympus_cli.faults.failure import EXIT_CODES, FAILURE_FORMS, Failure
from olympus_cli.gate_reports.failures import FailedTarget

#: The constraints on values that their types do not express, by record and key.
_CONSTRAINTS: SchemaConstraints = {
    Failure: {
        "kind": {
            "description": "The class of olympus.errors, or Interrupted (Ctrl-C) or Terminated "
            "(SIGTERM).",
            "enum": list(EXIT_CODES),
        },
        "message": {"minLength": 1},
        "hint": {
            "description": "The remedy; null if none is known, or if the message has it.",
            "minLength": 1,
        },
        "location": {
            "description": "The source line, FILE:LINE, of the program or of olympus.toml.",
            "pattern": ":[0-9]+$",
        },
        "exit_code": {
            "description": "The exit code of the command.",
            "enum": sorted(set(EXIT_CODES.values())),
        },
    },
    FailedTarget: {"target": {"const": None}},
}


def error_document_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document of a failed command."""
    schemas = RecordSchemas(FAILURE_FORMS, _CONSTRAINTS, {Failure: "error"})
    return {
        "$schema": SCHEMA_DIALECT,
        "$id": "olympus-error-1",
        "title": "OLYMPUS error document",
        "description": "The document that a command with --json writes to stdout if it fails "
        "before it has another one.",
        "type": "object",
        "additionalProperties": False,
        "required": ["error"],
        "dependentRequired": {"targets": ["failed"], "failed": ["targets"]},
        "properties": {
            "error": schemas.value(Failure),
            "targets": {
                "description": "Of a command that checks, measures or compares targets: empty, "
                "because no target was reached.",
                "type": "array",
                "maxItems": 0,
            },
            "failed": {
                "description": "Of such a command: the error again, without a target.",
                "type": "array",
                "minItems": 1,
                "maxItems": 1,
                "items": schemas.record(FailedTarget),
            },
        },
        "$defs": schemas.definitions,
    }
