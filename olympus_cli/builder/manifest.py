"""The list of the files that a build wrote into a target's folder: `olympus-build.json`.

The list identifies a folder as the output of a build, and detects damaged files. It has every file
of the folder except itself, with its size and digest. The report is one of them. If either the list
or the report is lost, the other still names the files that a build wrote.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from olympus.artifact import indented
from olympus.errors import ArtifactError
from olympus.files import open_regular, to_data, typed
from olympus_cli.reports.build_report import OutputFile
from olympus_cli.reports.json import PAGE, REPORT, read_report
from olympus_cli.reports.text import SUMMARY
from olympus_cli.reports.versioned_json import NewerSchema, is_inside, read_json
from olympus_cli.text.paths import display_path

MANIFEST = "olympus-build.json"

_PIECE = 1 << 16  # bytes
_VERSION = 1  # raised with every change that an old reader would misread
_PROGRAM = (
    "program.olympuspr",
    "program.stablehlo.mlir",
    "program.hlo.txt",
    "program.sources.json",
)
_OF_BACKEND = re.compile(
    r"(cpu|gpu|tpu)(-[\w.-]+)?/"
    r"(executable\.bin|optimized\.hlo\.txt|stablehlo\.mlir|sources\.json)"
)


@dataclass(frozen=True)
class Manifest:
    """The contents of an output folder; `project` is the relative path to the project's folder.

    `parts` are the parts of the content keys, by backend label and part name.  `sources` is the
    digest of the project's modules.  A list of an earlier version has neither.
    """

    project: str
    target: str
    files: tuple[OutputFile, ...]
    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sources: str = ""

    @staticmethod
    def read(directory: Path) -> Manifest:
        """Return the list in `directory`; raise ArtifactError if it is missing or damaged."""
        path = directory / MANIFEST
        try:
            document = {"parts": {}, "sources": "", **read_json(path, _VERSION)}
            manifest: Manifest = typed(document, Manifest)
        except ValueError as error:
            raise ArtifactError(f"{display_path(path)} is damaged: {error}") from error
        for file in manifest.files:
            if not is_inside(file.path):
                raise ArtifactError(
                    f"{display_path(path)} is damaged: {file.path!r} is not inside the folder"
                )
        return manifest

    def write(self, directory: Path) -> None:
        """Write the list into `directory`."""
        data = {"schema_version": _VERSION, **to_data(self)}
        (directory / MANIFEST).write_text(indented(data) + "\n", encoding="utf-8")


def output_file(directory: Path, path: Path) -> OutputFile:
    """Return the list entry for the file `path` in `directory`."""
    name = path.relative_to(directory).as_posix()
    with open_regular(path) as file:
        return OutputFile(name, os.fstat(file.fileno()).st_size, _sha256(file))


def _sha256(file: BinaryIO) -> str:
    """Return the SHA-256 of an open file; `hashlib.file_digest` clears a buffer of 256 KB first."""
    digest = hashlib.sha256()
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


def intact(directory: Path, file: OutputFile) -> bool:
    """Return True if `file` of a list is unchanged, and in `directory` without links out of it."""
    path = directory / file.path
    try:
        if os.path.realpath(path) != os.path.join(os.path.realpath(directory), file.path):
            return False
        with open_regular(path) as content:
            if os.fstat(content.fileno()).st_size != file.bytes:
                return False
            return _sha256(content) == file.sha256
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return False


def written_by_build(directory: Path, bundle: str) -> frozenset[str]:
    """Return the paths in `directory` that a build wrote and may replace; none if no build did.

    These are the paths in the list, or in the report if the list cannot be read. Paths with the
    usual names of build outputs are added, because a list may have been changed; `bundle` is the
    name of the bundle. If neither can be read, another sign of a build is needed: a file with the
    name of the list, or both the Olympuspr and the StableHLO.

    Raises:
        NewerSchema: a newer version of OLYMPUS wrote the report, and there is no other sign.
    """
    paths = {path.relative_to(directory).as_posix() for path in directory.rglob("*")}
    usual = frozenset(_with_usual_names(paths, bundle))
    try:
        return usual | {MANIFEST, *(file.path for file in Manifest.read(directory).files)}
    except ArtifactError:
        pass
    newer: NewerSchema | None = None
    try:
        report = read_report(directory)
        return usual | {MANIFEST, REPORT, *(file.path for file in report.outputs)}
    except NewerSchema as error:
        newer = error
    except ArtifactError:
        pass
    if MANIFEST in paths or paths.issuperset(_PROGRAM[:2]):
        return usual
    if newer is not None:
        raise newer
    return frozenset()


def _with_usual_names(paths: Iterable[str], bundle: str) -> Iterable[str]:
    usual = {MANIFEST, PAGE, REPORT, SUMMARY, bundle, *_PROGRAM}
    return (path for path in paths if path in usual or _OF_BACKEND.fullmatch(path))
