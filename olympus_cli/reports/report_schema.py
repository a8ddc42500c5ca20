"""The JSON Schema of `report.json`, generated from the types of its records.

The shipped file `report.schema.json` has it: `pytest tests/cli/reports --update-golden` writes it.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from olympus.analysis import Collective, CostRow
from olympus.files import Forms, field_types, form_of, is_record
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
_SCALARS: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
}

#: The constraints on values that their types do not express, by record and key.
_CONSTRAINTS: Mapping[type, Mapping[str, Mapping[str, Any]]] = {
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
    definitions: dict[str, Any] = {}
    _define(Report, REPORT_FORMS, definitions)
    report = definitions.pop(Report.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"olympus-report-{SCHEMA_VERSION}",
        "title": "OLYMPUS build report",
        **report,
        "description": f"{report['description']} Sizes are in bytes, times in seconds, and counts "
        "are for one call; null is unknown.",
        "required": ["schema_version", *report["required"]],
        "properties": {"schema_version": {"const": SCHEMA_VERSION}, **report["properties"]},
        "$defs": definitions,
    }


def _define(kind: Any, forms: Forms, definitions: dict[str, Any]) -> dict[str, str]:
    """Add the schema of a record, and of the records in it; return the reference to it."""
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # its place is before those of the records in it
        attributes, own = form_of(kind, forms), _CONSTRAINTS.get(kind, {})
        definitions[kind.__name__] = {
            "description": _summary(kind),
            "type": "object",
            "additionalProperties": False,
            "required": list(attributes),
            "properties": {
                key: {**_schema(_type_of(kind, name), forms, definitions), **own.get(key, {})}
                for key, name in attributes.items()
            },
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _type_of(kind: Any, name: str) -> Any:
    """Return the type of a field or a property of a record."""
    known = field_types(kind)
    if name in known:
        return known[name]
    return typing.get_type_hints(getattr(kind, name).fget)["return"]


def _schema(kind: Any, forms: Forms, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type that `olympus.files.typed` reads."""
    if is_record(kind):
        return dict(_define(kind, forms, definitions))
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        (only,) = (part for part in parts if part is not type(None))
        return _or_null(_schema(only, forms, definitions))
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin is np.dtype:
        return {"type": "string"}
    if origin is tuple:
        return {"type": "array", "items": _schema(parts[0], forms, definitions)}
    if origin is not None:
        values = _schema(parts[1], forms, definitions)
        return {"type": "object", "additionalProperties": values}
    return dict(_SCALARS[kind])


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"oneOf": [{"type": "null"}, schema]}


def _summary(kind: Any) -> str:
    """Return the docstring of a record up to its examples, as one paragraph."""
    text = re.split(r"\n\s*(?:Example|>>>)", inspect.getdoc(kind) or "")[0]
    return " ".join(text.split())
