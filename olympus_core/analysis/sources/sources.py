"""The source locations of a program's operations, in a file beside the program.

StableHLO is written without locations, so that equal programs have equal bytes in any directory. A
`SourceMap` has the place of each operation in the order of the program. Its paths are relative to
the project's folder, so it is equal in two directories too. It fits one program only, which it
identifies by the names of its operations.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olympus_bundle.json_value import parse_json
from olympus_core.analysis.sources.places import (
    Place,
    Places,
    name_of_module,
    nested_operations,
)
from olympus_core.base.errors import ArtifactError
from olympus_core.base.regular_files import path_text, source_line
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_VERSION = 1  # increased with each change that an old reader would misread
_KEYS = frozenset(["schema_version", "program", "files", "scopes", "places", "operations", "texts"])


@dataclass(frozen=True)
class SourceMap:
    """The places of a program's operations; `texts` are the source lines, if they are saved.

    `program` is the digest of the operations' names.
    """

    program: str
    places: tuple[Place, ...]
    texts: Mapping[tuple[str, int], str] = field(default_factory=dict)

    @staticmethod
    def of(module: ir.Module, root: str | os.PathLike[str], *, texts: bool = True) -> SourceMap:
        """Return the map of a lowered module; paths inside `root` are relative to it.

        With `texts`, the map includes the text of the lines in the current files.

        Example:
          >>> SourceMap.of(lowered.module, "/home/me/project").places[0]
          Place(file='', line=0, scope='', backward=False)
        """
        folder = os.path.abspath(root)
        inside = os.path.join(path_text(folder), "")
        places, line_texts = [], dict[tuple[str, int], str]()
        reader, names, relative = Places(module), hashlib.sha256(), dict[Place, Place]()
        for operation in nested_operations(module.operation):
            names.update(f"{operation.operation.name}\n".encode())
            place = reader.of(operation.location)._replace(backward=False)
            shown = relative.get(place)
            if shown is None:
                shown = relative[place] = place._replace(file=place.file.removeprefix(inside))
                if texts and shown.file:
                    text = source_line(os.path.join(folder, place.file), place.line)
                    line_texts.update({(shown.file, shown.line): text} if text else {})
            places.append(shown)
        return SourceMap(names.hexdigest(), tuple(places), line_texts)

    def fits(self, module: ir.Module) -> bool:
        """Return True if this is the map of `module`."""
        return self.program == _program(module)

    def locate(self, module: ir.Module) -> None:
        """Give each operation of `module`, which the map `fits`, the place that the map has for it.

        >>> SourceMap.of(module, "").locate(without_locations)
        """
        root = name_of_module(module) or "main"
        locations: dict[Place, Any] = {}
        for operation, place in zip(nested_operations(module.operation), self.places, strict=True):
            if place not in locations:
                locations[place] = _location(place, root)
            operation.operation.location = locations[place]

    def to_bytes(self) -> bytes:
        """Return the map as JSON; it has each file, scope and place once."""
        files, scopes, places = dict[str, int](), dict[str, int](), dict[Place, int]()
        operations = [places.setdefault(place, len(places)) for place in self.places]
        listed = [
            (files.setdefault(p.file, len(files)), p.line, scopes.setdefault(p.scope, len(scopes)))
            for p in places
        ]
        texts = [(files[file], line, text) for (file, line), text in self.texts.items()]
        data = {
            "schema_version": _VERSION,
            "program": self.program,
            "files": [*files],
            "scopes": [*scopes],
            "places": listed,
            "operations": operations,
            "texts": texts,
        }
        return (json.dumps(data, separators=(",", ":")) + "\n").encode("ascii")

    @staticmethod
    def parse(content: bytes) -> SourceMap:
        """Parse a map that `to_bytes` wrote.

        Raises:
          ArtifactError: the content is not a map, or has another version.
        """
        try:
            return _parsed(parse_json(content))
        except (ValueError, KeyError, IndexError, TypeError) as exc:
            raise ArtifactError(f"the map of source lines cannot be read: {exc}") from exc


def _location(place: Place, root: str) -> ir.Location:
    """Return the location that `Places` of the module `root` reads as `place`."""
    with mlir.context():
        line = mlir.ir.Location.unknown()
        if place.file:
            line = mlir.ir.Location.file(place.file, place.line, 0)
        return mlir.ir.Location.name("/".join([root, place.scope, "operation"]), line)


def _program(module: ir.Module) -> str:
    names = hashlib.sha256()
    for operation in nested_operations(module.operation):
        names.update(f"{operation.operation.name}\n".encode())
    return names.hexdigest()


def _parsed(data: Any) -> SourceMap:
    if not isinstance(data, dict) or data.keys() != _KEYS or data["schema_version"] != _VERSION:
        raise ArtifactError(f"the map of source lines is not one of version {_VERSION}")
    files, scopes = _texts(data["files"]), _texts(data["scopes"])
    places = [
        Place(files[_number(file)], _number(line), scopes[_number(scope)])
        for file, line, scope in data["places"]
    ]
    (program,) = _texts([data["program"]])
    texts = {
        (files[_number(file)], _number(line)): _texts([text])[0]
        for file, line, text in data["texts"]
    }
    return SourceMap(program, tuple(places[_number(i)] for i in data["operations"]), texts)


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ArtifactError(f"the map of source lines has {value!r:.40} for a number")
    return value


def _texts(values: Any) -> Sequence[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ArtifactError("the map of source lines has something else for a text")
    return values
