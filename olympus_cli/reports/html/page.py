"""The contents of `report.html` for one target: the object that the file is rendered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from olympus.analysis import KernelEstimate, LiveBuffer
from olympus_cli.reports.build_report import BackendReport, Report
from olympus_cli.reports.html.listing import Listing
from olympus_cli.reports.stacks import StackReport

if TYPE_CHECKING:
    from olympus.analysis import Moment


@dataclass(frozen=True)
class Roof:
    """The limits of a device: the lines of a roofline, and its memory.

    `bandwidth` is in bytes per second.  `peaks` are the greatest rates, in operations per second,
    by kind of computation, such as "bfloat16, tensor cores".
    """

    device: str
    bandwidth: float | None
    peaks: Mapping[str, float]
    memory: int | None


@dataclass(frozen=True)
class MeasuredTime:
    """The measured times of calls: figures with their names, notes, and the drawing as HTML."""

    figures: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    flame: Markup


@dataclass(frozen=True)
class BackendPage:
    """The program for one backend.

    `timeline` is what is live over the schedule, empty where that is not known; `roof` is None for
    a device whose rates are not known, `measured` where nothing was.  `stacks` is the cost by the
    calls of the user's functions.  `kernels` and `buffers` are all that are estimated and that are
    live at the peak; where they are empty, the report's are shown.
    """

    report: BackendReport
    timeline: tuple[Moment, ...]
    roof: Roof | None
    stablehlo: Listing
    optimized: Listing
    measured: MeasuredTime | None = None
    stacks: tuple[StackReport, ...] = ()
    kernels: tuple[KernelEstimate, ...] = ()
    buffers: tuple[LiveBuffer, ...] = ()


@dataclass(frozen=True)
class Page:
    """One target.

    `sources` are the texts of the user's files by the path that the report has in its lines, which
    is from `root` where they are inside it.
    """

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
