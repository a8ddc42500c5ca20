"""Where each operation of a program comes from, beside a program that does not say it.

StableHLO is written without locations, so that equal programs have equal bytes wherever they were
built.  A `SourceMap` has the place of each operation in the order of the program, with paths from
the project's folder: it is the same in two directories too.  It fits one program alone, which it
knows by the names of its operations.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olympus_core.analysis.places import Place, Places, walk
from olympus_core.errors import ArtifactError
from olympus_core.regular_files import path_text, source_line

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["SourceMap"]

_VERSION = 1  # raised with every change that an old reader would misread
_KEYS = frozenset(["schema_version", "program", "files", "scopes", "places", "operations", "texts"])


@dataclass(frozen=True)
class SourceMap:
    """The places of a program's operations; `texts` are the source lines, where they are kept.

    `program` is the digest of the operations' names.
    """

    program: str
    places: tuple[Place, ...]
    texts: Mapping[tuple[str, int], str] = field(default_factory=dict)

    @staticmethod
    def of(module: ir.Module, root: str | os.PathLike[str], *, texts: bool = True) -> SourceMap:
        """The map of a lowered module; paths inside `root` are told from there.

        With `texts` it has the lines, as the files are now.

        Example:
          >>> SourceMap.of(lowered.module, "/home/me/project").places[0]
          Place(file='', line=0, scope='', backward=False)
        """
        inside = os.path.join(path_text(os.path.abspath(root)), "")
        found, kept = [], dict[tuple[str, int], str]()
        where, names, known = Places(), hashlib.sha256(), dict[Place, Place]()
        for each in walk(module.operation):
            names.update(f"{each.operation.name}\n".encode())
            place = where.of(each.location)._replace(backward=False)
            shown = known.get(place)
            if shown is None:
                shown = known[place] = place._replace(file=place.file.removeprefix(inside))
                if texts and shown.file:
                    text = source_line(place.file, place.line)
                    kept.update({(shown.file, shown.line): text} if text else {})
            found.append(shown)
        return SourceMap(names.hexdigest(), tuple(found), kept)

    def fits(self, module: ir.Module) -> bool:
        """Whether it is the map of the module."""
        return self.program == _program(module)

    def to_bytes(self) -> bytes:
        """The map as JSON: each file, scope and place once."""
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
        """The map that `to_bytes` wrote.

        Raises:
          ArtifactError: when the content is not that of a map, or of another version.
        """
        try:
            return _parsed(json.loads(content))
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as exc:
            raise ArtifactError(f"the map of source lines cannot be read: {exc}") from exc


def _program(module: ir.Module) -> str:
    names = hashlib.sha256()
    for each in walk(module.operation):
        names.update(f"{each.operation.name}\n".encode())
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
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise ArtifactError("the map of source lines has something else for a text")
    return values
