"""Meshes and shardings in words: MLIR's text of them, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: the names of attributes about shardings, and their names for people
_NAMES = {
    "sdy.sharding": "sharding",
    "sharding": "sharding",
    "in_shardings": "shardings of the operands",
    "out_shardings": "shardings of the results",
    "manual_axes": "axes that it is mapped over",
}
_MESH_NAME = re.compile(r"sdy\.mesh @(?:mesh_?)?(\S*)")
_MESH = re.compile(r"#sdy\.mesh<\[(.*?)\](?:, device_ids=\[(.*)\])?>")
_MANUAL = re.compile(r"#sdy<manual_axes\{(.*)\}>")
_SEVERAL = re.compile(r"#sdy\.sharding_per_value<\[(.*)\]>")
#: the sharding of an array: its mesh, an entry for each dimension, and perhaps more
_SHARDING = re.compile(r"<@[\w.$-]+, \[([^\]]*)\]((?:, \w+=\{[^}]*\})*)>")
_ENTRY = re.compile(r"\{([^}]*)\}")
_AXIS = re.compile(r'"([^"]*)"(?:=(\d+))?')


def spoken_name(what: str) -> str:
    """Return the name of an attribute for people.

    >>> spoken_name("sdy.sharding"), spoken_name("sdy.mesh @mesh"), spoken_name("dimensions")
    ('sharding', 'mesh', 'dimensions')
    """
    if mesh := _MESH_NAME.fullmatch(what):
        return f"mesh {mesh[1]}".rstrip()
    return _NAMES.get(what, what)


def spoken_value(what: str, text: str | None) -> str:
    """The text of an attribute, of one about meshes and shardings in words; "none" for None.

    >>> spoken_value("sdy.mesh @mesh", '#sdy.mesh<["data"=2, "model"=4]>')
    'data=2, model=4'
    >>> spoken_value("sdy.sharding", '#sdy.sharding<@mesh, [{}, {"model"}]>')
    'dimension 1 along model'
    >>> spoken_value("sdy.sharding", None)
    'left to the compiler'
    """
    if text is None:
        return "left to the compiler" if what == "sdy.sharding" else "none"
    if not text.startswith("#sdy"):
        return text
    if match := _MESH.fullmatch(text):
        order = f", devices in the order {match[2]}" if match[2] else ""
        return ", ".join(f"{name}={size}" for name, size in _AXIS.findall(match[1])) + order
    if match := _MANUAL.fullmatch(text):
        return ", ".join(name for name, _ in _AXIS.findall(match[1]))
    if match := _SEVERAL.fullmatch(text):
        shardings = [_sharding(*parts) for parts in _SHARDING.findall(match[1])]
        return " | ".join(shardings) or "none"
    match = _SHARDING.fullmatch(text.removeprefix("#sdy.sharding"))
    return _sharding(match[1], match[2]) if match else text


def _sharding(entries: str, more: str) -> str:
    """Return the entries for the dimensions of an array in words, and `more` unchanged."""
    return ("; ".join(_dimensions(entries)) or "whole on each device") + more


def _dimensions(entries: str) -> Iterator[str]:
    for number, entry in enumerate(_ENTRY.findall(entries)):
        if names := [name for name, _ in _AXIS.findall(entry)]:
            yield f"dimension {number} along {' and '.join(names)}"
        elif "?" in entry:
            yield f"dimension {number} as the compiler chooses"
