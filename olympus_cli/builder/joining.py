"""The join of a bundle from those of targets, as a part of a build."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from olympus.errors import OlympusError
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.reasons import NeverBuilt, PartsChanged, Stated
from olympus_cli.faults.failure import Failure


class JoinedBundle(Protocol):
    """A bundle that is joined from others.

    `path` is its file, and `is_fresh` is True if it has exactly the present parts and settings.
    """

    @property
    def name(self) -> str:
        """Its name in the report of a build."""

    @property
    def path(self) -> Path:
        """Its file."""

    def is_fresh(self) -> bool:
        """Return True if it has exactly the present parts and settings."""

    def write(self) -> None:
        """Write the file and its folder; raise OlympusError if the parts do not fit."""


def ready_targets(outcomes: Iterable[Outcome]) -> set[str]:
    """Return the names of the targets whose bundles can be parts."""
    return {x.target for x in outcomes if x.status in ("built", "fresh") and x.failure is None}


def joined(bundle: JoinedBundle, *, frozen: bool) -> Outcome:
    """Write a bundle that is stale, unless `frozen`; return the outcome."""
    start = time.perf_counter()
    if bundle.is_fresh():
        return Outcome(bundle.name, "fresh")
    reason = PartsChanged() if bundle.path.exists() else NeverBuilt()
    if frozen:
        return Outcome.because(bundle.name, [reason])
    try:
        bundle.write()
    except OlympusError as error:
        return Outcome(bundle.name, "failed", failure=Failure.of(error))
    seconds = time.perf_counter() - start
    return Outcome(bundle.name, "built", (Stated.of(reason),), seconds)
