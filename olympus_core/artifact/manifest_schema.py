"""The JSON Schema of `manifest.json`, generated from the records and tables of the manifest.

The shipped file `bundle.schema.json` has it: `pytest tests/artifact --update-golden` writes it.
"""

from __future__ import annotations

from typing import Any

from olympus_bundle.host import Host
from olympus_bundle.manifest import ARRAY_FIELDS, CONSTANTS_VERSION, SCHEMA_VERSION, Member
from olympus_bundle.tree import PARTS
from olympus_core import xla
from olympus_core.artifact.manifest import Manifest, Signature, StoredExecutable
from olympus_core.artifact.shardings import MAX_AXES
from olympus_core.base.json_schema import SCHEMA_DIALECT, RecordSchemas, SchemaConstraints

_Schema = dict[str, Any]

_TEXT: _Schema = {"type": "string"}
_BOOL: _Schema = {"type": "boolean"}
_AXIS: _Schema = {"type": ["string", "integer"]}
_COUNT: _Schema = {"type": "integer", "minimum": 1, "maximum": xla.MOST_DEVICES}
_INDEX: _Schema = {"type": "integer", "minimum": 0, "maximum": xla.MOST_DEVICES - 1}


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/$defs/{name}"}


def _array(items: _Schema, **keywords: Any) -> _Schema:
    return {"type": "array", **keywords, "items": items}


def _object(properties: _Schema, **keywords: Any) -> _Schema:
    """Return the schema of an object with these keys, none of which may be missing."""
    required = [*properties]
    return {
        **keywords,
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


#: The schemas of values that are not records, or whose type does not express their form.
_CONSTRAINTS: SchemaConstraints = {
    Manifest: {
        "name": {"description": "The user's name of the program."},
        "entry": {"description": "The source of the program, as module:function."},
        "function": {"description": "The name of the traced function."},
        "versions": {"description": "The versions of the packages that built it."},
        "compiler_options": {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean"]},
        },
        "programs": {
            "description": "The member with the StableHLO, for each lowered backend.",
            "minProperties": 1,
        },
        "members": {"description": "Every file of the bundle except the manifest."},
        "placement": _ref("placement"),
        "callbacks": {
            "description": "The Python functions that the program calls, by index.",
            **_array(_ref("callback")),
        },
        "constants": {
            "description": "For each lowered backend, the arrays of constants.safetensors that the "
            "program takes before the arguments of a call; the name of each is its SHA-256.",
            "type": "object",
            "additionalProperties": _array(_ref("result")),
        },
    },
    Signature: {
        "arguments": _array(_ref("argument")),
        "argument_tree": {"description": "Of the pair (args, kwargs).", **_ref("tree")},
        "results": _array(_ref("result")),
        "result_tree": _ref("tree"),
        "static": {
            "description": 'The values of static arguments; {"python": text} is a value that JSON '
            "does not have.",
            "type": "object",
        },
    },
    StoredExecutable: {
        "backend": {"enum": list(xla.BACKENDS)},
        "topology": {
            "description": "The number of hosts, and of devices of each.",
            "type": "string",
            "pattern": "^[0-9]+x[0-9]+$",
        },
        "shardings": {
            "description": "For several devices, the shardings of the executable's arrays.",
            **_object({"arguments": _array(_ref("sharding")), "results": _array(_ref("sharding"))}),
        },
    },
    Member: {"sha256": {"pattern": "^[0-9a-f]{64}$"}},
}

#: The names in `$defs`.
_NAMES = {
    Signature: "signature",
    StoredExecutable: "executable",
    Host: "host",
    Member: "member",
}


def manifest_schema() -> _Schema:
    """Return the JSON Schema of `manifest.json`.

    >>> manifest_schema()["title"]
    'manifest.json of an .olympus bundle'
    """
    schemas = RecordSchemas(constraints=_CONSTRAINTS, names=_NAMES)
    manifest = schemas.record(Manifest, optional=["placement", "callbacks", "constants"])
    executable = schemas.record(StoredExecutable, optional=["topology", "shardings"])
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "manifest.json of an .olympus bundle",
        **manifest,
        "required": ["schema_version", *manifest["required"]],
        "properties": {
            "schema_version": {"enum": [SCHEMA_VERSION, CONSTANTS_VERSION]},
            **manifest["properties"],
        },
        "$defs": {
            **schemas.definitions,
            "executable": executable,
            **_array_types(),
            "callback": _callback(),
            "tree": {"type": "object", "oneOf": [_node(kind) for kind in PARTS]},
            **_shardings(),
        },
    }


def _array_types() -> _Schema:
    """Return the schemas of arguments and results; only arguments can be donated."""
    types = {"name": _TEXT, "dtype": _ref("dtype"), "shape": _ref("shape"), "weak_type": _BOOL}
    result = {name: types[name] for name in ARRAY_FIELDS}
    return {
        "argument": _object({**result, "donated": _BOOL}),
        "result": _object(result),
        "dtype": {**_TEXT, "pattern": "^(bool|(u?int|b?float|complex)[0-9]+(_[a-z0-9]+)?)$"},
        "shape": _array({"type": "integer", "minimum": 0, "maximum": 2**63 - 1}),
    }


def _callback() -> _Schema:
    """Return the schema of a Python function that the program calls."""
    properties = {
        "name": {**_TEXT, "description": "The function as module:name."},
        "arguments": _array(_ref("result")),
        "argument_tree": {"description": "Of the pair (args, kwargs).", **_ref("tree")},
        "results": _array(_ref("result")),
        "has_effects": _BOOL,
        "is_ordered": {**_BOOL, "description": "True if the order of its calls is kept."},
    }
    return _object(properties, description="A Python function that the program calls.")


def _node(kind: str) -> _Schema:
    """Return the schema of a node of a tree."""
    items: _Schema = {"description": "The children, in the order of the leaves."}
    if kind == "key":
        items = {
            "description": "The array of words of random keys.",
            "minItems": 1,
            "maxItems": 1,
        }
    parts = {
        "items": _array(_ref("tree"), **items),
        "keys": _array(_TEXT if kind == "namedtuple" else _AXIS),
        "type": {**_TEXT, "description": "The class, as module:name."},
    }
    return _object({"kind": {"const": kind}, **{name: parts[name] for name in PARTS[kind]}})


def _shardings() -> _Schema:
    """Return the schemas of the placement of a program of several devices, and of its parts."""
    meshes = _object(
        {
            "axis_names": _array(_AXIS, maxItems=MAX_AXES),
            "axis_sizes": _array(_COUNT, maxItems=MAX_AXES),
        }
    )
    sharding_or_null = {"oneOf": [{"type": "null"}, _ref("sharding")]}
    placement = {
        "num_devices": {**_COUNT, "minimum": 2},
        "meshes": _array(_ref("mesh")),
        "arguments": _array(sharding_or_null, description="Null where the compiler chooses."),
        "results": _array(sharding_or_null, description="Null where the compiler chooses."),
    }
    named = {
        "mesh": {"description": "The index in meshes.", "type": "integer", "minimum": 0},
        "spec": _array(
            _array(_AXIS), description="The axes that split each dimension, the major one first."
        ),
    }
    tiled = {
        "parts": _array(_COUNT, description="The number of parts of each dimension."),
        "places": _array(_array(_INDEX), description="The part of each device."),
    }
    description = "For several devices, the shardings that the program declares."
    return {
        "placement": _object(placement, description=description),
        "mesh": meshes,
        "sharding": {"type": "object", "oneOf": [_object(named), _object(tiled)]},
    }
