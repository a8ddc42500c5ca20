"""A profiled program: its names and its profile, as JSON and as data for another process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from olympus.analysis import KernelEstimate, KernelProfile, Profile, ProfileKind, ProfileRow
from olympus.files import Forms, form, to_data, typed


@dataclass(frozen=True)
class ProfiledProgram:
    """The profile of one program, with paths relative to the project; `by` selects the rows."""

    target: str
    entry: str
    backend: str
    by: ProfileKind
    profile: Profile

    @property
    def rows(self) -> tuple[ProfileRow, ...]:
        """The rows of the profile, the slowest first."""
        return self.profile.by(self.by)

    def to_data(self) -> dict[str, Any]:
        """Return plain data, without the timeline."""
        data: dict[str, Any] = to_data(
            replace(self, profile=replace(self.profile, threads=(), timeline=()))
        )
        return data

    @staticmethod
    def from_data(data: object) -> ProfiledProgram:
        """Return the program of `to_data`'s `data`; raise ValueError for other data."""
        program: ProfiledProgram = typed(data, ProfiledProgram, "profile")
        return program

    def document(self) -> dict[str, Any]:
        """Return the JSON document; times are medians in seconds."""
        profile = self.profile
        return {
            "target": self.target,
            "entry": self.entry,
            "backend": self.backend,
            "by": self.by,
            "runs": profile.runs,
            "seconds": profile.seconds,
            "undisturbed_seconds": profile.undisturbed,
            "kernel_seconds": profile.kernel_seconds,
            "coverage": profile.coverage,
            "estimated_seconds": profile.estimated,
            "rows": to_data(self.rows, _FORMS),
            "kernels": to_data(profile.kernels, _FORMS),
            "unseen": to_data(profile.unseen, _FORMS),
        }


_FORMS: Forms = MappingProxyType(
    {
        ProfileRow: form(
            *("key", "seconds", "share", "estimated_seconds", "kernels", "calls", "direction"),
            estimated_seconds="estimated",
        ),
        KernelProfile: form(
            *("name", "operation", "line", "scope", "backward", "calls", "seconds", "share"),
            *("estimated_seconds", "bound", "is_overhead"),
            estimated_seconds="estimated",
        ),
        KernelEstimate: form(
            *("name", "operation", "line", "calls", "estimated_seconds"),
            estimated_seconds="seconds",
        ),
    }
)
