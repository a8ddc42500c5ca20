"""The inputs of a target from the reads of its trace: the state of each file, found only once.

A file that changed after the recording began may have been read before the change. Its target is
left out of the index, so that the next build traces it again.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from olympus.artifact import COMPILERS
from olympus_cli.builder.freshness.inputs import (
    CommonVariablesInput,
    EnvironmentInput,
    FileInput,
    FolderInput,
    Here,
    Input,
    KindInput,
    LinkInput,
    MachineInput,
    PackageInput,
    SearchPathInput,
    StatusInput,
    VariableInput,
    WorkingDirectoryInput,
    common_variables,
    environment_digest,
    file_digest,
    importable_names,
    machine_facts,
    normalized,
    search_path,
    status_of,
)
from olympus_cli.builder.freshness.reads import CLOCK, Reads
from olympus_cli.faults.blame import is_python
from olympus_cli.process.file_clock import TICK
from olympus_cli.text.packages import PACKAGES

_PACKAGES = ("numpy", "jaxlib", "ml_dtypes")  # they trace and lower, with ours
_INSTALLED = re.compile(r"(?P<folder>.*/(?:site|dist)-packages)/(?P<top>[^/]+)")
_TOP = re.compile(r"^([^/,\n]+)[/,]", re.MULTILINE)  # the first part of each path in a RECORD
# `datetime` is compiled code whose methods cannot be replaced: they are found in the source.
_NOW = re.compile(rb"\.(?:now|utcnow|today)\b|\buuid1\b|datetime64\(\s*['\"](?:now|today)")
_MAX_SOURCE = 1 << 24


class ChangedMeanwhile(Exception):
    """Raised if a file changed after its recording began."""


class Collector:
    """Makes the inputs of targets; `here` has the places that their paths are relative to."""

    def __init__(self, here: Here) -> None:
        self._here = here
        # before this process adds the folders of the project
        self._search_path = SearchPathInput(search_path(here))
        self._common_variables = common_variables()
        self._files: dict[str, FileInput | None] = {}
        self._times: dict[str, int] = {}
        self._packages: dict[tuple[str, str], PackageInput | None] = {}
        self._clocks: dict[str, int | None] = {}

    def common(self, kinds: Collection[str]) -> list[Input]:
        """Return the inputs of every target: OLYMPUS, its packages, the machine, variables.

        `kinds` are those of the backends, whose compilers are included.
        """
        files = [file for name in PACKAGES for file in _sources_of(name)]
        inputs: list[Input] = [MachineInput(machine_facts())]
        inputs += self._of_files(files, None)
        compilers = {name for kind in kinds for name in COMPILERS[kind]}
        for name in sorted({*_PACKAGES, *compilers}):
            for folder in sys.path:
                package = self._package(folder, name)
                if package is not None:
                    inputs.append(package)
                    break
        inputs += (CommonVariablesInput(self._common_variables), self._search_path)
        inputs += self._of_files(_path_files(), None)
        flags = os.environ.get("XLA_FLAGS", "").strip()
        if flags and not flags.startswith("-"):  # the name of a file with the flags
            inputs += self._of_files([os.path.abspath(flags)], None)
        return inputs

    def files(self, paths: Iterable[str]) -> list[Input]:
        """Return the inputs of files that were read just now."""
        return list(self._of_files(paths, None))

    def of(self, reads: Reads, own_variables: Collection[str]) -> list[Input]:
        """Return the inputs of one trace; `own_variables` are set by the target itself.

        Raises:
            ChangedMeanwhile: a file changed while it was traced.
        """
        text = self._here.text
        inputs = list(self._of_files(reads.files, reads.started))
        inputs += self._missing(reads.missing)
        for path, names in reads.folders.items():
            inputs.append(self._folder(path, names))
        inputs += (KindInput(text(path), kind) for path, kind in reads.kinds.items())
        inputs += (StatusInput(text(path), status) for path, status in reads.statuses.items())
        inputs += (LinkInput(text(path), link) for path, link in reads.links.items())
        inputs += (
            VariableInput.of(name, os.environ.get(name))
            for name in reads.variables
            if name not in own_variables and name not in self._common_variables
        )
        if reads.working_directory:
            inputs.append(WorkingDirectoryInput(text(os.getcwd())))
        if reads.whole_environment:
            inputs.append(EnvironmentInput(environment_digest(os.environ)))
        return inputs

    def _missing(self, paths: Iterable[str]) -> Iterator[Input]:
        for path in paths:
            if status_of(path) is not None:
                raise ChangedMeanwhile(path)
            yield FileInput(self._here.text(path), None, None)

    def _folder(self, path: str, names: str) -> Input:
        """Return the state of a folder at its read; its status only if nothing changed since."""
        known = names.splitlines()[1:] if names else None
        status = status_of(path)
        is_same = status is not None and importable_names(path) == known
        stored = self._here.settled(status) if is_same and status is not None else None
        return FolderInput(self._here.text(path), stored, known)

    def always(self, reads: Reads) -> list[list[str]]:
        """Return the sources without a state that a program reads, each with its place."""
        sources = dict(reads.always)
        for path in reads.files:
            if path in self._clocks and (line := self._clocks[path]) is not None:
                sources.setdefault(CLOCK, f"{path}:{line}")
        return [[source, self._place(place)] for source, place in sources.items()]

    def _place(self, place: str) -> str:
        file, colon, line = place.rpartition(":")
        return f"{self._here.text(file)}{colon}{line}" if file else place

    def _of_files(self, paths: Iterable[str], started: int | None) -> Iterator[Input]:
        for path in paths:
            if is_python(path):
                continue
            if (installed := _INSTALLED.match(path)) is not None:
                package = self._package(installed["folder"], installed["top"])
                if package is not None:
                    yield package
                    continue
            if path not in self._files:
                self._files[path] = self._file(path)
            found = self._files[path]
            if found is None:
                continue
            if started is not None and self._times.get(path, 0) > started - TICK:
                raise ChangedMeanwhile(path)
            yield found

    def _file(self, path: str) -> FileInput | None:
        """Return the state of a file; None for a folder, a pipe or a device."""
        text = self._here.text(path)
        status = status_of(path)
        if status is None:
            raise ChangedMeanwhile(path)
        self._times[path] = max(status[1:3])
        digest = file_digest(path)
        if digest is None:
            return None
        if path.endswith(".py"):
            self._clocks[path] = _line_of_clock(path)
        return FileInput(text, self._here.settled(status), digest)

    def _package(self, folder: str, top: str) -> PackageInput | None:
        """Return the installed package with the module `top` of a folder; None if there is none."""
        key = folder, top
        if key not in self._packages:
            self._packages[key] = self._found_package(folder, top)
        return self._packages[key]

    def _found_package(self, folder: str, top: str) -> PackageInput | None:
        metadata = [n for n in importable_names(folder) or () if n.endswith(".dist-info")]
        name = normalized(top.partition(".")[0])
        metadata.sort(key=lambda entry: normalized(entry.partition("-")[0]) != name)
        for entry in metadata:
            package, _, version = entry.removesuffix(".dist-info").partition("-")
            record = os.path.join(folder, entry, "RECORD")
            if top in _tops_of(record) or normalized(package) == name:
                status, digest = status_of(record), file_digest(record)
                if status is not None and digest is not None:
                    text = self._here.text(record)
                    stored = self._here.settled(status)
                    return PackageInput(normalized(package), version, text, stored, digest)
        return None


@functools.cache
def _tops_of(record: str) -> frozenset[str]:
    """Return the first parts of the paths that the list of a package's files has."""
    try:
        return frozenset(_TOP.findall(Path(record).read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return frozenset()


def _path_files() -> Iterator[str]:
    """Yield the files of site-packages that add folders or import hooks at Python's start."""
    for folder in sys.path:
        for name in importable_names(folder) or ():
            if name.endswith(".pth") or (name.startswith("__editable__") and name.endswith(".py")):
                yield os.path.join(folder, name)


def _sources_of(package: str) -> Iterator[str]:
    """Yield the files of the imported modules of a package."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            file = getattr(module, "__file__", None)
            if isinstance(file, str):
                yield file


def _line_of_clock(path: str) -> int | None:
    """Return the first line of a source file that reads the clock with `datetime`, or None."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_SOURCE)
    except OSError:
        return None
    match = _NOW.search(content)
    return None if match is None else content.count(b"\n", 0, match.start()) + 1
