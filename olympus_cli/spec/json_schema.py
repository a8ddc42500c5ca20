"""The JSON Schema of olympus.toml, for editors: the parser's keys, with their descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import tomli

from olympus.artifact import indented
from olympus.files import SCHEMA_DIALECT
from olympus.sharding import MOST_DEVICES
from olympus_cli.spec.bench import JUDGED
from olympus_cli.spec.buckets import FILLS, OVERSIZE, POWERS
from olympus_cli.spec.cache import MODES
from olympus_cli.spec.entries import BUNDLE_SUFFIX, FRONTENDS, ONNX_SUFFIX, PROGRAM_SUFFIXES
from olympus_cli.spec.key_descriptions import key_descriptions
from olympus_cli.spec.limits import LIMITED
from olympus_cli.spec.project import PROJECT_KEYS, TARGET_KEYS
from olympus_cli.text.option_values import LINALG, OPTIMIZE, REPEATS, WEIGHTS

Schema = dict[str, Any]

#: The name of the file that `olympus init` writes, and that its olympus.toml names.
SCHEMA_FILE = "olympus.schema.json"

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`([^`]*)`")
_ALONE = r"^\{\s*[A-Za-z_]\w*\s*\}$"  # a key of the matrix, in place of a value

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_KEY_OF_MATRIX: Schema = {"type": "string", "pattern": _ALONE}
_IDENTIFIER: Schema = {"pattern": r"^[A-Za-z_]\w*$"}
_NUMBER: Schema = {"anyOf": [{"type": "number", "minimum": 0}, _TEXT]}
_ENDS = "|".join(map(re.escape, (*PROGRAM_SUFFIXES, ONNX_SUFFIX, BUNDLE_SUFFIX)))


def project_schema() -> Schema:
    """Return the schema of an olympus.toml, in the form of JSON.

    Example: `jsonschema.validate(tomllib.loads(text), project_schema())`.
    """
    tables = {
        "extends": {"type": "string", "minLength": 1},
        "project": _table("project", PROJECT_KEYS, _PROJECT),
        "defaults": _ref("target"),
        "target": {
            "type": "object",
            "propertyNames": {"pattern": r"^[A-Za-z0-9_+-][A-Za-z0-9_.+-]*$"},
            "additionalProperties": _ref("target"),
        },
        "budget": _ref("budget"),
        "bench": _ref("bench"),
        "device": {"type": "object", "additionalProperties": _ref("device")},
    }
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "olympus.toml",
        "description": "The programs of a project, with their shapes, limits and inputs.",
        **_table("file", tables, tables),
        "$defs": {
            "target": _table("target", TARGET_KEYS, _target()),
            "budget": _budget(),
            "bench": _table("bench", _BENCH, _BENCH),
            "device": _device(),
            "argument": _ARGUMENT,
            "sharding": _SHARDING,
            "results": _RESULTS,
        },
    }


def schema_text() -> str:
    """Return the text of the file with the schema."""
    return indented(project_schema()) + "\n"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _table(name: str, keys: Iterable[str], values: Mapping[str, Schema]) -> Schema:
    """Return the schema of a table of `keys`, each with its description."""
    described = key_descriptions()[name]
    properties = {key: {**_described(key, described[key]), **values[key]} for key in keys}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _described(key: str, description: Mapping[str, str]) -> Schema:
    """Return the title, the description and the default of a key, without links."""
    meaning, default = (_LINK.sub(r"\1", description[part]) for part in ("meaning", "default"))
    schema: Schema = {"title": key, "description": meaning}
    if code := _CODE.fullmatch(default):
        schema["default"] = tomli.loads(f"x = {code[1]}")["x"] if _is_value(code[1]) else code[1]
    elif default:
        schema["description"] += f" If absent: {default}."
    return schema


def _is_value(text: str) -> bool:
    return text[:1] in '"[{' or text in ("true", "false")


def _or_key(schema: Schema) -> Schema:
    """Return the schema of a value, or of a key of the matrix in braces."""
    return {"anyOf": [schema, _KEY_OF_MATRIX]}


def _choice(values: Iterable[str]) -> Schema:
    return _or_key({"enum": list(values)})


def _each(value: Schema, names: Schema | None = None) -> Schema:
    """Return the schema of a table with any keys, or with keys of a form."""
    schema: Schema = {"type": "object", "additionalProperties": value}
    return schema if names is None else {**schema, "propertyNames": names}


_PROJECT: dict[str, Schema] = {
    "build-dir": _TEXT,
    "default-targets": _TEXTS,
    "python-path": _TEXTS,
    "history": {"anyOf": [{"type": "boolean"}, {"type": "string", "minLength": 1}]},
    "cache": {"anyOf": [{"type": "boolean"}, {"type": "string", "minLength": 1}]},
    "remote-cache": _TEXT,
    "remote-cache-mode": {"enum": list(MODES)},
}

_FLAG = _or_key({"type": "boolean"})

# A shape has brackets, and the text of a tree of shapes has braces.
_ARGUMENT: Schema = {
    "anyOf": [
        {"type": "string", "pattern": r"[\[{]"},
        {"type": "array", "items": _ref("argument")},
        {
            "type": "object",
            "properties": {
                "from": _TEXT,
                "with": {"type": "object"},
                "sharding": _ref("sharding"),
                "data": {"type": "string", "pattern": r"\.safetensors$|\{"},
            },
            "required": ["from"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"shape": _TEXT, "sharding": _ref("sharding")},
            "required": ["shape", "sharding"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "not": {"required": ["from"]},
            "properties": {"type": _TEXT},
            "additionalProperties": _ref("argument"),
        },
    ]
}
_SHARDING: Schema = {"type": "array", "items": {"anyOf": [_TEXT, _TEXTS]}}
_RESULTS: Schema = {"anyOf": [_ref("sharding"), _each(_ref("results"))]}

_DISTRIBUTION: Schema = {
    "type": "array",
    "items": _or_key({"type": "number"}),
    "minItems": 2,
    "maxItems": 2,
}
_INPUTS: dict[str, Schema] = {
    "range": _DISTRIBUTION,
    "normal": _DISTRIBUTION,
    "file": _TEXT,
    "from": _TEXT,
}
_TOLERANCE: dict[str, Schema] = {
    "rtol": _NUMBER,
    "atol": _NUMBER,
    "ulps": _or_key({"type": "number", "minimum": 0}),
    "allow": {"type": "array", "items": _choice(("nan", "inf"))},
}
_BENCH: dict[str, Schema] = {
    "threshold": {"anyOf": [_TEXT, {"type": "number", "exclusiveMinimum": 0, "maximum": 1}]},
    "metrics": {
        "type": "array",
        "items": _choice(dict.fromkeys((*JUDGED, *(name.replace("-", "_") for name in JUDGED)))),
    },
}


def _target() -> dict[str, Schema]:
    """Return the schemas of the values of a target."""
    sizes = _or_key({"type": "integer", "minimum": 1, "maximum": MOST_DEVICES})
    argument = {"anyOf": [_ref("argument"), {"type": "integer", "minimum": 0}]}
    trips = _or_key({"type": "integer", "minimum": 0})
    backend = {"type": "string", "pattern": r"^(cpu|gpu|tpu)(:|$)|\{"}
    option = {"type": ["string", "number", "boolean"]}
    values = {"type": "array", "minItems": 1, "items": option}
    return {
        "entry": {"type": "string", "pattern": rf":|({_ENDS})$|\{{"},
        "frontend": _choice(FRONTENDS),
        "weights": _choice(WEIGHTS),
        "args": {"anyOf": [{"type": "array", "items": _ref("argument")}, _each(argument)]},
        "static": _each({}),
        "constraints": _TEXTS,
        "at": _each(_or_key({"type": "integer", "minimum": 1}), _IDENTIFIER),
        "donate": _TEXTS,
        "backends": {"type": "array", "minItems": 1, "items": backend},
        "mesh": _each(sizes, _IDENTIFIER),
        "out-sharding": _ref("results"),
        "x64": _FLAG,
        "env": _each(_TEXT, {"pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"}),
        "optimize": _choice(OPTIMIZE),
        "repeats": _choice(REPEATS),
        "linalg": _choice(LINALG),
        "as-is": _FLAG,
        "compiler-options": _each(option),
        "matrix": _each(values, _IDENTIFIER),
        "buckets": {**_each(_bucket_sizes(), _IDENTIFIER), "minProperties": 1, "maxProperties": 1},
        "padding": _each(_choice(FILLS)),
        "oversize": _choice(OVERSIZE),
        "inputs": _each(_inputs()),
        "tolerance": _tolerance(),
        "budget": _ref("budget"),
        "bench": _ref("bench"),
        "golden": _FLAG,
        "trips": _each(trips, {"pattern": r".+:[0-9]+$"}),
    }


def _bucket_sizes() -> Schema:
    """Return the schema of sizes: an array, or a range."""
    size = {"type": "integer", "minimum": 1}
    step = {"anyOf": [{"const": POWERS}, size]}
    ends = {"min": size, "max": size, "step": step}
    return {
        "anyOf": [
            {"type": "array", "minItems": 1, "maxItems": 64, "uniqueItems": True, "items": size},
            {
                "type": "object",
                "properties": ends,
                "required": ["max"],
                "additionalProperties": False,
            },
        ]
    }


def _inputs() -> Schema:
    """Return the schema of the values of an argument: one source, and `with` beside `from`."""
    schema = _table("inputs", _INPUTS, _INPUTS)
    schema["properties"]["with"] = {"type": "object"}
    return {**schema, "oneOf": [{"required": [key]} for key in _INPUTS]}


def _tolerance() -> Schema:
    schema = _table("tolerance", _TOLERANCE, _TOLERANCE)
    numbers = {key: schema["properties"][key] for key in ("rtol", "atol", "ulps")}
    of_dtype = {"type": "object", "additionalProperties": False, "properties": numbers}
    return {**schema, "additionalProperties": of_dtype}


def _budget() -> Schema:
    """Return the schema of a budget, whose keys may also be written with `_`."""
    limit = {"anyOf": [{"type": "number", "minimum": 0}, _TEXT]}
    values: dict[str, Schema] = {
        **dict.fromkeys(LIMITED, limit),
        "fits": _TEXT,
        "forbid": _TEXTS,
        "donation": _choice(("all-used",)),
    }
    schema = _table("budget", key_descriptions()["budget"], values)
    others = {
        key.replace("-", "_"): value for key, value in schema["properties"].items() if "-" in key
    }
    return {**schema, "properties": {**schema["properties"], **others}}


_FIGURES: Mapping[str, Schema] = {
    "string": _TEXT,
    "device": _TEXT,
    "integer": {"type": "integer", "minimum": 0},
    "number": {"type": "number", "minimum": 0},
    "table of numbers": _each({"type": "number", "minimum": 0}),
    "table of arrays": _each(_TEXTS),
}


def _device() -> Schema:
    """Return the schema of a GPU or a TPU, whose `like` selects the keys."""
    keys = {**key_descriptions()["tpu"], **key_descriptions()["device"]}
    properties = {
        key: {**_described(key, text), **_FIGURES[text["type"]]} for key, text in keys.items()
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}
