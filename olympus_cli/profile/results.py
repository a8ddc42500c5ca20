"""A profile as plain records, with source lines relative to the project's folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olympus_cli.reports.figures import relative_line
from olympus_cli.reports.strict import typed

if TYPE_CHECKING:
    from olympus.analysis import Profile, ProfileKind


@dataclass(frozen=True)
class ProfiledKernel:
    """A kernel and its times in one call of the program, in seconds.

    `estimated_seconds` and `bound` are None if there is no estimate.  `is_overhead` is True for
    time in which no kernel ran.
    """

    name: str
    operation: str
    line: str | None
    scope: str
    backward: bool
    calls: int
    seconds: float
    share: float
    estimated_seconds: float | None
    bound: str | None
    is_overhead: bool


@dataclass(frozen=True)
class ProfiledRow:
    """The figures of a source line, scope, operation or kernel."""

    key: str
    seconds: float
    share: float
    estimated_seconds: float | None
    kernels: int
    calls: int
    direction: str


@dataclass(frozen=True)
class UnseenKernel:
    """A kernel of the estimate for which the profiler has no event."""

    name: str
    operation: str
    line: str | None
    calls: int
    estimated_seconds: float


@dataclass(frozen=True)
class ProfileReport:
    """The profile of one program; `rows` are grouped by `by`, and times are medians in seconds.

    `coverage` is the share of `seconds` in which a kernel ran, `kernel_seconds`.
    `estimated_seconds` counts each kernel as often as it was called, and includes `unseen` kernels.
    """

    target: str
    entry: str
    backend: str
    by: str
    runs: int
    seconds: float
    undisturbed_seconds: float
    kernel_seconds: float
    coverage: float
    estimated_seconds: float
    rows: tuple[ProfiledRow, ...]
    kernels: tuple[ProfiledKernel, ...]
    unseen: tuple[UnseenKernel, ...]

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data."""
        return asdict(self)

    @staticmethod
    def from_data(data: object) -> ProfileReport:
        """Return the report from the data of `to_data`; raise ValueError for other data."""
        found: ProfileReport = typed(data, ProfileReport, "profile")
        return found


def profile_report(
    profile: Profile, kind: ProfileKind, root: Path, named: tuple[str, str, str]
) -> ProfileReport:
    """Return the report of a profile; `named` are the target, the entry and the backend."""
    return ProfileReport(
        *named,
        by=kind,
        runs=profile.runs,
        seconds=profile.seconds,
        undisturbed_seconds=profile.undisturbed,
        kernel_seconds=profile.kernel_seconds,
        coverage=profile.coverage,
        estimated_seconds=profile.estimated,
        rows=_rows(profile, kind, root),
        kernels=_kernels(profile, root),
        unseen=tuple(
            UnseenKernel(
                each.name,
                each.operation,
                relative_line(each.line, root),
                each.calls,
                each.seconds,
            )
            for each in profile.unseen
        ),
    )


def _rows(profile: Profile, kind: ProfileKind, root: Path) -> tuple[ProfiledRow, ...]:
    return tuple(
        ProfiledRow(
            relative_line(row.key, root) or "",
            row.seconds,
            row.share,
            row.estimated,
            row.kernels,
            row.calls,
            row.direction,
        )
        for row in profile.by(kind)
    )


def _kernels(profile: Profile, root: Path) -> tuple[ProfiledKernel, ...]:
    return tuple(
        ProfiledKernel(
            name=each.name,
            operation=each.operation,
            line=relative_line(each.line, root),
            scope=each.scope,
            backward=each.backward,
            calls=each.calls,
            seconds=each.seconds,
            share=each.share,
            estimated_seconds=each.estimated,
            bound=each.bound,
            is_overhead=each.is_overhead,
        )
        for each in profile.kernels
    )
