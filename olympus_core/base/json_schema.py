"""JSON Schemas of records, generated from their types as `json_records` writes them."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from olympus_core.base.json_records import Forms, field_types, form_of, is_record

#: The dialect of the schemas, for their key `$schema`.
SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

#: By record and key, keywords of a schema that the type of the value does not express.
SchemaConstraints = Mapping[type, Mapping[str, Mapping[str, Any]]]

_NONE: Mapping[type, Any] = types.MappingProxyType({})
_SCALARS: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
}


class RecordSchemas:
    """The schemas of records, which refer to one another by `#/$defs/NAME`.

    `forms` are the keys of records, as in `to_data`. `names` are the names in `$defs` of records
    which have another one than their class. `definitions` is the value of `$defs`: each record that
    a schema refers to. A constraint with `type` or `$ref` replaces the schema of the field's type.
    """

    def __init__(
        self,
        forms: Forms = _NONE,
        constraints: SchemaConstraints = _NONE,
        names: Mapping[type, str] = _NONE,
    ) -> None:
        self._forms, self._constraints, self._names = forms, constraints, names
        self.definitions: dict[str, Any] = {}

    def record(self, kind: type, optional: Collection[str] = ()) -> dict[str, Any]:
        """Return the schema of a record; the keys `optional` may be missing.

        >>> RecordSchemas().record(LineBytes)["properties"]["bytes"]
        {'type': 'integer', 'minimum': 0}
        """
        attributes = form_of(kind, self._forms)
        return {
            "description": _summary(kind),
            "type": "object",
            "additionalProperties": False,
            "required": [key for key in attributes if key not in optional],
            "properties": {key: self._field(kind, key, attributes[key]) for key in attributes},
        }

    def _field(self, kind: type, key: str, name: str) -> dict[str, Any]:
        constraint = self._constraints.get(kind, {}).get(key, {})
        if "type" in constraint or "$ref" in constraint:
            return dict(constraint)
        return {**self.value(_type_of(kind, name)), **constraint}

    def value(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type that `json_records.typed` reads."""
        if is_record(kind):
            return self._reference(kind)
        origin, parts = typing.get_origin(kind), typing.get_args(kind)
        if origin in (types.UnionType, typing.Union):
            (only,) = (part for part in parts if part is not type(None))
            return _or_null(self.value(only))
        if origin is typing.Literal:
            return {"enum": list(parts)}
        if origin is np.dtype:
            return {"type": "string"}
        if origin is tuple:
            return {"type": "array", "items": self.value(parts[0])}
        if origin is not None:
            return {"type": "object", "additionalProperties": self.value(parts[1])}
        return dict(_SCALARS[kind])

    def _reference(self, kind: type) -> dict[str, Any]:
        """Return the reference to the schema of a record, which `definitions` has afterwards."""
        name = self._names.get(kind, kind.__name__)
        if name not in self.definitions:
            self.definitions[name] = {}  # its place is before those of the records in it
            self.definitions[name] = self.record(kind)
        return {"$ref": f"#/$defs/{name}"}


def _type_of(kind: Any, name: str) -> Any:
    """Return the type of a field or a property of a record."""
    known = field_types(kind)
    if name in known:
        return known[name]
    return typing.get_type_hints(getattr(kind, name).fget)["return"]


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"oneOf": [{"type": "null"}, schema]}


def _summary(kind: type) -> str:
    """Return the docstring of a record up to its examples, as one paragraph."""
    text = re.split(r"\n\s*(?:Example|>>>)", inspect.getdoc(kind) or "")[0]
    return " ".join(text.split())
