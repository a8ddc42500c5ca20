"""What `report.html` shows of one target: the object that the file is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olympus_cli.reports.html.listing import Listing
from olympus_cli.reports.model import BackendReport, Report

if TYPE_CHECKING:
    from olympus.stages import Cost, Estimate, Memory

__all__ = ["BackendPage", "Page", "Roof"]


@dataclass(frozen=True)
class Roof:
    """What a device can do: the lines of a roofline, and the memory that a program may take.

    `bandwidth` is in bytes per second.  `peaks` are the greatest rates, in operations per second,
    by what is computed, such as "bfloat16, tensor cores".
    """

    device: str
    bandwidth: float | None
    peaks: Mapping[str, float]
    memory: int | None


@dataclass(frozen=True)
class BackendPage:
    """The program for one backend; None is a figure that is not known there."""

    report: BackendReport
    cost: Cost | None
    memory: Memory | None
    estimate: Estimate | None
    roof: Roof | None
    stablehlo: Listing
    optimized: Listing


@dataclass(frozen=True)
class Page:
    """One target; `sources` are the texts of the user's files by path, `root` is their folder."""

    report: Report
    backends: tuple[BackendPage, ...]
    olympuspr: Listing
    sources: Mapping[str, str]
    root: str

    def short(self, path: str) -> str:
        """A path as it is shown: from the project's folder where it is inside it.

        >>> page.short("/home/me/project/gpt.py")
        'gpt.py'
        """
        return path.removeprefix(self.root.rstrip("/") + "/")
