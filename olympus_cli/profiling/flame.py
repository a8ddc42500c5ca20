"""The frames of a flame graph: a call, its scopes, in them the lines, in these the kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from olympus_cli.profiling.report import ProfiledKernel

__all__ = ["Frame", "Placed", "drawn", "flame"]

FrameKind = Literal["call", "scope", "line", "kernel", "overhead"]

_LEAST = 0.0005  # the part of the whole below which a frame is narrower than a pixel
_DEEPEST = 40  # scopes within scopes that have frames of their own


@dataclass
class Frame:
    """A frame: what it stands for, the seconds of all it holds, and those of the backward pass.

    `estimated` is the sum of what was estimated of it, None where nothing was.
    """

    name: str
    kind: FrameKind
    seconds: float = 0.0
    backward: float = 0.0
    estimated: float | None = None
    children: dict[tuple[str, str], Frame] = field(default_factory=dict)

    def add(self, kernel: ProfiledKernel) -> None:
        """Count a kernel in."""
        self.seconds += kernel.seconds
        if kernel.backward:
            self.backward += kernel.seconds
        if kernel.estimated_seconds is not None:
            self.estimated = (self.estimated or 0.0) + kernel.estimated_seconds

    def child(self, name: str, kind: FrameKind) -> Frame:
        """The frame of that name on top of this one, new or not."""
        return self.children.setdefault((kind, name), Frame(name, kind))


@dataclass(frozen=True)
class Placed:
    """A frame where it is drawn: `left` and `width` in percent of the graph, `depth` from 0."""

    frame: Frame
    left: float
    width: float
    depth: int

    @property
    def direction(self) -> str:
        """The pass that takes most of its time; "" for time in which no kernel ran."""
        if self.frame.kind in ("overhead", "call"):
            return ""
        return "backward" if 2 * self.frame.backward > self.frame.seconds else "forward"


def flame(kernels: Sequence[ProfiledKernel]) -> Frame:
    """The frame of a whole call, with all others on top of it."""
    root = Frame("one call", "call")
    for kernel in kernels:
        root.add(kernel)
        if kernel.is_overhead:
            root.child(kernel.name, "overhead").add(kernel)
            continue
        frame = root
        for part in filter(None, kernel.scope.split("/", _DEEPEST)):
            frame = frame.child(part, "scope")
            frame.add(kernel)
        frame = frame.child(kernel.line or "(unknown)", "line")
        frame.add(kernel)
        frame.child(kernel.name, "kernel").add(kernel)
    return root


def drawn(root: Frame) -> list[Placed]:
    """The frames that are wide enough to be seen, each before those on top of it."""
    return [*_drawn(root, 0.0, 0, root.seconds)] if root.seconds else []


def _drawn(frame: Frame, left: float, depth: int, whole: float) -> Iterator[Placed]:
    if frame.seconds < _LEAST * whole:
        return
    yield Placed(frame, 100 * left / whole, 100 * frame.seconds / whole, depth)
    for child in sorted(frame.children.values(), key=_order):
        yield from _drawn(child, left, depth + 1, whole)
        left += child.seconds


def _order(frame: Frame) -> tuple[bool, float, str]:
    return frame.kind == "overhead", -frame.seconds, frame.name
