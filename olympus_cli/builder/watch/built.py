"""One build of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from olympus_cli.builder.outcome import Outcome
from olympus_cli.spec.model import Project, TargetSpec


@dataclass(frozen=True)
class Built:
    """One build: the project as it was read, its targets by name, and their outcomes."""

    project: Project
    specs: Mapping[str, TargetSpec]
    outcomes: Sequence[Outcome]
