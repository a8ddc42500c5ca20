"""The contents of a build folder and of a stored result as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from olympus_cli.builder.inspection.build_contents import BuildContents, BuiltBackend
from olympus_cli.builder.inspection.entry_contents import EntryContents
from olympus_cli.reports.bundle_text import Table
from olympus_cli.text.units import byte_size, duration

_NAME = 17  # columns


def build_lines(contents: BuildContents) -> Iterator[str]:
    """Yield the lines above the tables of a build folder."""
    entry = f"{contents.entry}, " if contents.entry else ""
    yield f"{contents.target}  ({entry}{contents.folder})"
    yield _row("project", contents.project)
    states = Counter(file.state for file in contents.files)
    yield _row("files", ", ".join(f"{states[state]} {state}" for state in sorted(states)))
    if contents.others:
        yield _row("not of the build", ", ".join(contents.others))
    if contents.sources:
        yield _row("source digest", contents.sources)
    for backend in contents.backends:
        yield _row(f"key for {backend.label}", backend.key or "not known: report.json is damaged")


def build_tables(contents: BuildContents) -> Iterator[Table]:
    """Yield the tables of a build folder: executables, parts of the keys, and files."""
    if contents.backends:
        rows: list[tuple[object, ...]] = [
            (backend.executable, backend.backend, _fits(backend.misfits))
            for backend in contents.backends
        ]
        yield ("executable", "backend", "runs here"), rows
    for backend in contents.backends:
        if backend.parts:
            yield (f"part of the key for {backend.label}", "value"), _parts(backend)
    yield (
        ("file", "bytes", "state", "SHA-256"),
        [(file.path, file.bytes, file.state, file.sha256) for file in contents.files],
    )


def entry_lines(contents: EntryContents) -> Iterator[str]:
    """Yield the lines above the table of a stored result."""
    yield f"{contents.program} for {contents.backend}  ({contents.file})"
    yield _row("size", byte_size(contents.bytes))
    yield _row("key", contents.key)
    yield _row("versions", ", ".join(f"{k} {v}" for k, v in sorted(contents.versions.items())))
    yield _row("compiled in", duration(contents.compile_seconds))
    yield _row(
        "runs here", _fits(contents.misfits) if contents.misfits else "if a build has its key"
    )


def entry_tables(contents: EntryContents) -> Iterator[Table]:
    """Yield the table of the members of a stored result."""
    rows: list[tuple[object, ...]] = [
        (member.name, member.bytes, member.sha256) for member in contents.members
    ]
    yield ("member", "bytes", "SHA-256"), rows


def _row(name: str, value: object) -> str:
    return f"  {name:<{_NAME}} {value}"


def _fits(misfits: Sequence[str]) -> str:
    return f"no: {'; '.join(misfits)}" if misfits else "yes"


def _parts(backend: BuiltBackend) -> list[tuple[object, ...]]:
    return [(name, value) for name, value in backend.parts.items()]
