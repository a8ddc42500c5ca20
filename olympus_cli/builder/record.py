"""The record of a target's last build, and the reason to build it again."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import ArtifactError
from olympus_cli.builder.manifest import MANIFEST, Manifest, intact
from olympus_cli.reports.build_report import Report
from olympus_cli.reports.json import PAGE, has_report, read_report


@dataclass(frozen=True)
class Record:
    """The record of a target's last build: its report, and its damaged files.

    `trouble` is the reason why its report or its list of files cannot be read.
    """

    report: Report | None = None
    damaged: tuple[str, ...] = ()
    trouble: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The content key of each backend that it built for, by the backend's label."""
        return (
            {backend.label: backend.key for backend in self.report.backends} if self.report else {}
        )

    @property
    def has_page(self) -> bool:
        """True if the report was written as a page."""
        return self.report is not None and any(f.path == PAGE for f in self.report.outputs)


def _another_program(_label: str) -> str:
    return "the program, or what compiles it, has changed"


def reason_to_build(
    record: Record | None,
    keys: Mapping[str, str],
    others: Collection[str] = (),
    explain: Callable[[str], str] = _another_program,
) -> str | None:
    """Return the reason to build outputs for `keys`; None if they are up to date.

    `others` are the labels of the target's other backends, which are not built now. `explain`
    returns the reason for a backend whose key differs.
    """
    if record is None:
        return "it has not been built before"
    if record.trouble is not None:
        return record.trouble
    for label, key in keys.items():
        if label not in record.keys:
            return f"it has not been built for {label} before"
        if record.keys[label] != key:
            return explain(label) if len(keys) == 1 else f"{label}: {explain(label)}"
    for label in record.keys:
        if label not in keys and label not in others:
            return f"it is no longer built for {label}"
    if record.damaged:
        return f"{record.damaged[0]} is missing or has been changed"
    return None


def read_record(directory: Path) -> Record | None:
    """Return the record in `directory`, checked against its files; None if there is no build."""
    if not has_report(directory) and not os.path.lexists(directory / MANIFEST):
        return None
    try:
        report = read_report(directory)
        files = Manifest.read(directory).files
    except ArtifactError as error:
        return Record(trouble=str(error))
    return Record(report, tuple(file.path for file in files if not intact(directory, file)))
