"""The list of what a build wrote into a target's folder: `olympus-build.json`.

The list tells a folder of ours from a user's own, and a whole output from a damaged one.  It has
every file of the folder but itself, with its size and digest, the report among them: either can be
lost, and the other still tells what a build wrote.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from olympus.artifact import indented
from olympus.errors import ArtifactError
from olympus_cli.reports.json import PAGE, REPORT, read_report
from olympus_cli.reports.model import OutputFile
from olympus_cli.reports.strict import NewerSchema, is_inside, open_regular, read_json, typed
from olympus_cli.reports.text import SUMMARY
from olympus_cli.text.places import shown

__all__ = ["MANIFEST", "Manifest", "intact", "output_file", "written_by_build"]

MANIFEST = "olympus-build.json"

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
    """What is in an output folder; `project` is the path from there to the project's folder.

    `parts` are those of the content keys, by the backend's label and the name of the part, and
    `sources` is the digest of the project's modules; a list of an earlier version has neither.
    """

    project: str
    target: str
    files: tuple[OutputFile, ...]
    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sources: str = ""

    @staticmethod
    def read(directory: Path) -> Manifest:
        """The list in `directory`; raises ArtifactError where it is missing or damaged."""
        path = directory / MANIFEST
        try:
            found = {"parts": {}, "sources": "", **read_json(path, _VERSION)}
            manifest: Manifest = typed(found, Manifest)
        except ValueError as error:
            raise ArtifactError(f"{shown(path)} is damaged: {error}") from error
        for file in manifest.files:
            if not is_inside(file.path):
                raise ArtifactError(
                    f"{shown(path)} is damaged: {file.path!r} is not inside the folder"
                )
        return manifest

    def write(self, directory: Path) -> None:
        """Write the list into `directory`."""
        data = {"schema_version": _VERSION, **asdict(self)}
        (directory / MANIFEST).write_text(indented(data) + "\n", encoding="utf-8")


def output_file(directory: Path, path: Path) -> OutputFile:
    """The entry of a list for the file `path` in `directory`."""
    name = path.relative_to(directory).as_posix()
    with open_regular(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return OutputFile(name, path.stat().st_size, digest)


def intact(directory: Path, file: OutputFile) -> bool:
    """Whether `file` of a list is in `directory`, no link leads out of it, and it is unchanged."""
    path = directory / file.path
    try:
        if os.path.realpath(path) != os.path.join(os.path.realpath(directory), file.path):
            return False
        with open_regular(path) as content:
            if os.fstat(content.fileno()).st_size != file.bytes:
                return False
            return hashlib.file_digest(content, "sha256").hexdigest() == file.sha256
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return False


def written_by_build(directory: Path, bundle: str) -> frozenset[str]:
    """The paths in `directory` that are a build's, and so may be replaced; none if it is not ours.

    They are those of the list, or, where it cannot be read, those of the report; and those whose
    names builds give (`bundle` is the bundle's), for a list may have been changed.  Where neither
    can be read, there must be another sign of a build: the list by its name, or both the Olympuspr
    and the StableHLO.

    Raises:
        NewerSchema: a newer version of OLYMPUS wrote the report, and there is no other sign.
    """
    found = {path.relative_to(directory).as_posix() for path in directory.rglob("*")}
    usual = frozenset(_with_usual_names(found, bundle))
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
    if MANIFEST in found or found.issuperset(_PROGRAM[:2]):
        return usual
    if newer is not None:
        raise newer
    return frozenset()


def _with_usual_names(found: Iterable[str], bundle: str) -> Iterable[str]:
    usual = {MANIFEST, PAGE, REPORT, SUMMARY, bundle, *_PROGRAM}
    return (path for path in found if path in usual or _OF_BACKEND.fullmatch(path))
