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
    TICK,
    EnvironmentInput,
    FileInput,
    FolderInput,
    Here,
    Input,
    KindInput,
    MachineInput,
    PackageInput,
    StatusInput,
    VariableInput,
    WorkingDirectoryInput,
    environment_digest,
    file_digest,
    importable_names,
    kind_of,
    machine_facts,
    normalized,
    status_of,
)
from olympus_cli.builder.freshness.reads import CLOCK, Reads
from olympus_cli.faults.blame import is_python

_OWN = ("olympus", "olympus_core", "olympus_cli")
_PACKAGES = ("numpy", "jaxlib", "ml_dtypes")  # they trace and lower, with ours
# Prefixes of variables that change the compiler, a package or Python itself.
_VARIABLES = re.compile(
    r"(?:XLA|JAX|TF_XLA|OLYMPUS|LIBTPU|TPU|CUDA|OMP|OPENBLAS|MKL)_\w+"
    r"|PYTHON(?:PATH|HASHSEED|HOME|OPTIMIZE|SAFEPATH|UTF8)"
)
_NO_INPUT = re.compile(r"OLYMPUS_(?:\w*CACHE\w*|COMPLETE)")
_INSTALLED = re.compile(r"(?P<folder>.*/(?:site|dist)-packages)/(?P<top>[^/]+)")
_TOP = re.compile(r"^([^/,\n]+)[/,]", re.MULTILINE)  # the first part of each path in a RECORD
# `datetime` is compiled code whose methods cannot be replaced: they are found in the source.
_NOW = re.compile(rb"\.(?:now|utcnow|today)\s*\(|datetime64\(\s*['\"](?:now|today)")
_MAX_SOURCE = 1 << 24


class ChangedMeanwhile(Exception):
    """Raised if a file changed after its recording began."""


class Collector:
    """Makes the inputs of targets; `here` has the places that their paths are relative to."""

    def __init__(self, here: Here) -> None:
        self._here = here
        self._files: dict[str, FileInput | None] = {}
        self._times: dict[str, int] = {}
        self._packages: dict[tuple[str, str], PackageInput | None] = {}
        self._clocks: dict[str, int | None] = {}
        self._kinds = {"folder": functools.cache(self._folder), "kind": functools.cache(self._kind)}

    def common(self, kinds: Collection[str]) -> list[Input]:
        """Return the inputs of every target: OLYMPUS, its packages, the machine, variables.

        `kinds` are those of the backends, whose compilers are included.
        """
        files = [file for name in _OWN for file in _sources_of(name)]
        inputs: list[Input] = [MachineInput(machine_facts())]
        inputs += self._of_files(files, None)
        compilers = {name for kind in kinds for name in COMPILERS[kind]}
        for name in sorted({*_PACKAGES, *compilers}):
            for folder in sys.path:
                package = self._package(folder, name)
                if package is not None:
                    inputs.append(package)
                    break
        names = {name for name in os.environ if _VARIABLES.fullmatch(name)}
        inputs += (
            VariableInput.of(name, os.environ.get(name))
            for name in sorted({*names, "XLA_FLAGS"})
            if not _NO_INPUT.fullmatch(name)
        )
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
        inputs = list(self._of_files(reads.files, reads.started))
        inputs += map(self._kinds["folder"], reads.folders)
        inputs += map(self._kinds["kind"], reads.kinds)
        inputs += map(self._status, reads.statuses)
        inputs += (
            VariableInput.of(name, os.environ.get(name))
            for name in reads.variables
            if name not in own_variables and not _NO_INPUT.fullmatch(name)
        )
        if reads.working_directory:
            inputs.append(WorkingDirectoryInput(self._here.text(os.getcwd())))
        if reads.whole_environment:
            inputs.append(EnvironmentInput(environment_digest(os.environ)))
        return inputs

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
            return FileInput(text, None, None)
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

    def _folder(self, path: str) -> Input:
        status = status_of(path)
        stored = None if status is None else self._here.settled(status)
        return FolderInput(self._here.text(path), stored, importable_names(path))

    def _kind(self, path: str) -> Input:
        return KindInput(self._here.text(path), kind_of(path))

    def _status(self, path: str) -> Input:
        status = status_of(path)
        return StatusInput(self._here.text(path), *(status[:2] if status else (None, None)))


@functools.cache
def _tops_of(record: str) -> frozenset[str]:
    """Return the first parts of the paths that the list of a package's files has."""
    try:
        return frozenset(_TOP.findall(Path(record).read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return frozenset()


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
