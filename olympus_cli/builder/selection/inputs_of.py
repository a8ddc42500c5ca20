"""The files that a target depends on: the inputs of its last trace, and the files that it names.

The index of the build folder has the files of the last trace. That trace may have been one of
another revision. Therefore the files that the import statements and the target's table name now
are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from olympus_cli.builder.freshness.index import Index
from olympus_cli.builder.selection.static_imports import imported_files, module_files
from olympus_cli.spec.entries import program_file
from olympus_cli.spec.model import FromEntry, OfClass, TargetSpec
from olympus_cli.spec.statics import StaticSource


def input_files(spec: TargetSpec, index: Index | None = None) -> frozenset[Path] | None:
    """Return the files that a target depends on; None if they are unknown.

    `index` is the index of its build folder. The files of a program that lists folders, or reads
    another source without a state, are unknown.

    Example: `input_files(project.targets["forward"])` has the file of its module.
    """
    entry = None if index is None else index.entries.get(spec.name)
    if entry is not None and entry.always:
        return None
    recorded = (
        frozenset(map(Path, index.inputs_of(spec.name))) if index is not None else frozenset()
    )
    named = _named_files(spec)
    return recorded | named if named is not None else recorded or None


def _named_files(spec: TargetSpec) -> frozenset[Path] | None:
    """Return the files that a target's table names, and that its modules import."""
    files: set[Path] = {source.file for source in spec.inputs.values() if source.file is not None}
    for entry in _entries(spec):
        file = program_file(entry)
        if file is not None:
            files.add(spec.root / file.path)
            continue
        modules = _modules(entry, spec.root, spec.python_path)
        if modules is None:
            return None
        files |= modules
    return frozenset(files)


def _entries(spec: TargetSpec) -> Iterator[str]:
    """Yield the entries of a target: its own, and those of `from`."""
    yield spec.entry
    yield from (source.entry for source in spec.inputs.values() if source.entry is not None)
    for value in spec.static.values():
        if isinstance(value, StaticSource) and value.entry is not None:
            yield value.entry
    waiting: list[object] = [*spec.args, *spec.kwargs.values()]
    while waiting:
        match waiting.pop():
            case FromEntry(entry=entry):
                yield entry
            case OfClass(entry=entry, parts=parts):
                yield entry
                waiting += parts.values()
            case dict() as parts:
                waiting += parts.values()
            case list() as parts:
                waiting += parts


def _modules(entry: str, root: Path, python_path: Sequence[Path]) -> frozenset[Path] | None:
    """Return the source files that an entry imports; None if its module is not in the project."""
    place = entry.rpartition(":")[0]
    if place.endswith(".py") or "/" in place:
        path = root / place
        return imported_files([path], [path.parent, *python_path])
    folders = [root, *python_path]
    files = module_files(place, folders)
    is_found = bool(files) and place.rpartition(".")[2] in (files[-1].stem, files[-1].parent.name)
    return imported_files(files, folders) if is_found else None  # it may be an installed one
