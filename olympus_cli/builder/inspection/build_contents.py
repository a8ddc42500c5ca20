"""The contents of the folder of a target, as the document of `olympus inspect` and its JSON Schema.

The shipped file `build_contents.schema.json` has the schema: `pytest
tests/cli/builder/inspection --update-golden` writes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from olympus.artifact import COMPILERS, Host
from olympus.errors import ArtifactError, UsageError
from olympus.files import SCHEMA_DIALECT, RecordSchemas, SchemaConstraints, to_data
from olympus.stages import is_attached
from olympus_cli.builder.manifest import MANIFEST, Manifest, intact
from olympus_cli.program.versions import installed_version
from olympus_cli.reports.build_report import OutputFile, Report
from olympus_cli.reports.json import REPORT, has_report, read_report
from olympus_cli.text.paths import display_path

_SCHEMA_VERSION = 1  # increased with each change that an old reader would misread
_MOST_NAMES = 5  # targets in a hint
_EXECUTABLE = "executable.bin"

State = Literal["intact", "changed", "missing"]


@dataclass(frozen=True)
class FileState:
    """A file of the build with its size and digest, and whether it is still the file."""

    path: str
    bytes: int
    sha256: str
    state: State


@dataclass(frozen=True)
class BuiltBackend:
    """The outputs for one backend: the content key, its parts, and the executable.

    The key is null if the report cannot be read. The misfits are the reasons why the executable
    cannot run on this machine.
    """

    label: str
    backend: str
    key: str | None
    parts: Mapping[str, str]
    executable: str
    misfits: tuple[str, ...]


@dataclass(frozen=True)
class BuildContents:
    """The contents of the folder of a target.

    The project is the relative path to the folder of the project. The sources are the digest of
    its modules, null if an old version built them. The others are files that no build wrote.
    """

    folder: str
    target: str
    entry: str | None
    project: str
    sources: str | None
    backends: tuple[BuiltBackend, ...]
    files: tuple[FileState, ...]
    others: tuple[str, ...]

    @staticmethod
    def read(folder: Path) -> BuildContents:
        """Return the contents of a folder; no code of the program runs.

        Raises:
            UsageError: the folder is not the output of a build.
            ArtifactError: the list of its files is missing or damaged.
        """
        if not has_report(folder) and not os.path.lexists(folder / MANIFEST):
            raise UsageError(
                f"{display_path(folder)} is not the output of a build",
                hint=_targets_in(folder) or "olympus build writes a folder for each target",
            )
        manifest = Manifest.read(folder)
        report = _report(folder)
        files = tuple(_state(folder, file) for file in manifest.files)
        entry = None if report is None else report.entry
        backends = tuple(_backends(manifest, report))
        others = tuple(_others(folder, manifest))
        sources = manifest.sources or None
        name, project = display_path(folder), manifest.project
        return BuildContents(
            name, manifest.target, entry, project, sources, backends, files, others
        )

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data in the form of `build_contents.schema.json`."""
        data: dict[str, Any] = to_data(self)
        return {"schema_version": _SCHEMA_VERSION, **data}


def _targets_in(folder: Path) -> str | None:
    """Return a hint with the targets in a build folder; None if it has none."""
    names = sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))
    if not names:
        return None
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"it has the folders of {', '.join(names[:_MOST_NAMES])}{more}"


def _report(folder: Path) -> Report | None:
    try:
        return read_report(folder)
    except ArtifactError:  # its file is in the list with its state
        return None


def _state(folder: Path, file: OutputFile) -> FileState:
    state: State = "intact"
    if not os.path.lexists(folder / file.path):
        state = "missing"
    elif not intact(folder, file):
        state = "changed"
    return FileState(file.path, file.bytes, file.sha256, state)


def _others(folder: Path, manifest: Manifest) -> Iterator[str]:
    known = {MANIFEST, REPORT, *(file.path for file in manifest.files)}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in known and not path.is_dir():
            yield name


def _backends(manifest: Manifest, report: Report | None) -> Iterator[BuiltBackend]:
    keys = {} if report is None else {backend.label: backend.key for backend in report.backends}
    for label in sorted({*keys, *manifest.parts}):
        parts = manifest.parts.get(label, {})
        backend = parts.get("backend", label)
        misfits = tuple(misfits_of(backend, parts))
        yield BuiltBackend(
            label, backend, keys.get(label), parts, f"{label}/{_EXECUTABLE}", misfits
        )


def misfits_of(backend: str, parts: Mapping[str, str]) -> Iterator[str]:
    """Yield the reasons why an executable with these parts of its key cannot run on this machine.

    >>> next(misfits_of("cpu", {"package jaxlib": "0.1", "machine": "Linux x86_64"}))
    'it was built with jaxlib 0.1, and here jaxlib is 0.10.2'
    """
    kind = backend.partition(":")[0].partition("-")[0]
    if kind not in COMPILERS:
        yield f"its backend {backend!r} is not known"
        return
    system, _, machine = parts.get("machine", "").partition(" ")
    features = parts.get("processor features")
    host = Host(system, machine, None if features is None else tuple(features.split()))
    named = {
        name.removeprefix("package "): version
        for name, version in parts.items()
        if name.startswith("package ")
    }
    installed = {name: installed_version(name) for name in COMPILERS[kind]}
    here = {name: version for name, version in installed.items() if version is not None}
    yield from host.misfits(kind, named, Host.here(), here)
    if not is_attached(kind):
        yield f"this machine has no {kind.upper()}"


_CONSTRAINTS: SchemaConstraints = {
    FileState: {"sha256": {"pattern": "^[0-9a-f]{64}$"}},
    BuildContents: {"folder": {"description": "The name of the folder, as it was given."}},
}


def build_contents_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    schemas = RecordSchemas(constraints=_CONSTRAINTS)
    contents = schemas.record(BuildContents)
    return {
        "$schema": SCHEMA_DIALECT,
        "$id": f"olympus-build-contents-{_SCHEMA_VERSION}",
        "title": "OLYMPUS build contents",
        **contents,
        "required": ["schema_version", *contents["required"]],
        "properties": {"schema_version": {"const": _SCHEMA_VERSION}, **contents["properties"]},
        "$defs": schemas.definitions,
    }
