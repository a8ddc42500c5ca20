"""The record of a target's last build, and the reasons to build it again."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import ArtifactError
from olympus_cli.builder.manifest import MANIFEST, Manifest, intact
from olympus_cli.builder.reasons import (
    NeverBuilt,
    NoLongerBuilt,
    OfBackend,
    OutputChanged,
    PartChanged,
    Reason,
    RecordUnreadable,
    Unexplained,
)
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


def _another_program(_label: str) -> Sequence[Reason]:
    return [Unexplained()]


def reasons_to_build(
    record: Record | None,
    keys: Mapping[str, str],
    others: Collection[str] = (),
    explain: Callable[[str], Sequence[Reason]] = _another_program,
) -> Sequence[Reason]:
    """Return the reasons to build outputs for `keys`; none if they are up to date.

    `others` are the labels of the target's other backends, which are not built now. `explain`
    returns the reasons for a backend whose key differs.
    """
    if record is None:
        return [NeverBuilt()]
    if record.trouble is not None:
        return [RecordUnreadable(record.trouble)]
    for label, key in keys.items():
        if label not in record.keys:
            return [NeverBuilt(label)]
        if record.keys[label] != key:
            first, *others_of_label = explain(label)
            return [first if len(keys) == 1 else OfBackend(label, first), *others_of_label]
    for label in record.keys:
        if label not in keys and label not in others:
            return [NoLongerBuilt(label)]
    if not others and [*keys] != [*record.keys]:  # the bundle has its executables in their order
        return [PartChanged("backends", ", ".join(record.keys), ", ".join(keys))]
    return [OutputChanged(path) for path in record.damaged]


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
