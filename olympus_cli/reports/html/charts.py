"""The data of the charts: a roofline, and memory over the schedule.

They are plain data for the drawing library on the page, `assets/uplot.js`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus.analysis import Estimate, KernelEstimate
from olympus_cli.reports.html.page import Roof

if TYPE_CHECKING:
    from olympus.analysis import Moment

_MAX_MOMENTS = 4000  # more than there are pixels; the greatest of neighbours is kept


def roofline_chart(estimate: Estimate, roof: Roof) -> dict[str, Any] | None:
    """Return kernels by intensity and rate under the limits of a device; None without any.

    The rate of a kernel is its operations over its estimated time (Williams, Waterman and
    Patterson: Roofline, Communications of the ACM 52(4), 2009).
    """
    kernels = [k for k in estimate.kernels if k.flops and k.bytes and k.seconds]
    if not kernels or not roof.bandwidth or not roof.peaks:
        return None
    return {
        "device": roof.device,
        "bandwidth": roof.bandwidth,
        "peaks": [[name, rate] for name, rate in roof.peaks.items()],
        "kernels": [_point(kernel, estimate.seconds) for kernel in kernels],
    }


def _point(kernel: KernelEstimate, total: float) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "operation": kernel.operation,
        "line": kernel.line,
        "bound": kernel.bound,
        "intensity": kernel.flops / kernel.bytes,
        "rate": kernel.flops * kernel.calls / kernel.seconds,
        "seconds": kernel.seconds,
        "share": kernel.seconds / total if total else 0.0,
    }


def memory_chart(moments: Sequence[Moment], roof: Roof | None) -> dict[str, Any] | None:
    """Return the live bytes at each position of the schedule; None if unknown or all 0."""
    if len(moments) < 2 or not any(moment.bytes for moment in moments):
        return None
    width = -(-len(moments) // _MAX_MOMENTS)
    groups = (moments[start : start + width] for start in range(0, len(moments), width))
    shown = [max(group, key=lambda moment: moment.bytes) for group in groups]
    return {
        "positions": [moment.position for moment in shown],
        "bytes": [moment.bytes for moment in shown],
        "names": [moment.name for moment in shown],
        "operations": [moment.operation for moment in shown],
        "lines": [moment.line or "" for moment in shown],
        "capacity": roof.memory if roof else None,
    }
