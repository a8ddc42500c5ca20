"""Flame graphs: the width of a frame is its part of the whole, above its enclosing frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from markupsafe import Markup

from olympus_cli.reports.templating import page_environment

_MIN = 0.0005  # the part of the whole below which a frame is narrower than a pixel
_ROW = 21  # pixels from one row of frames to the next


class FlamePart(NamedTuple):
    """A part of the whole: its value, the value of the backward pass, and its frames.

    `frames` are the kind and the name of each, the outermost first.  `other` is a second figure of
    the part, such as an estimate, or None.
    """

    frames: tuple[tuple[str, str], ...]
    value: float
    backward: float = 0.0
    other: float | None = None


@dataclass
class Frame:
    """A frame: its kind and name, and the sums of the parts that are in it.

    `kind` is a class of the style sheet.  `other` is None where no part has a second figure.
    """

    kind: str
    name: str
    value: float = 0.0
    backward: float = 0.0
    other: float | None = None
    children: dict[tuple[str, str], Frame] = field(default_factory=dict)

    def add(self, part: FlamePart) -> None:
        """Add a part."""
        self.value += part.value
        self.backward += part.backward
        if part.other is not None:
            self.other = (self.other or 0) + part.other


@dataclass(frozen=True)
class Placed:
    """A frame and its position: `left` and `width` in percent of the graph, `depth` from 0."""

    frame: Frame
    left: float
    width: float
    depth: int

    @property
    def direction(self) -> str:
        """The pass with most of the value; "" for the whole, and for a part of neither pass."""
        if self.frame.kind in ("overhead", "call"):
            return ""
        return "backward" if 2 * self.frame.backward > self.frame.value else "forward"


def add_up(name: str, parts: Iterable[FlamePart]) -> Frame:
    """Return the frame of the whole, with all others on top of it."""
    root = Frame("call", name)
    for part in parts:
        root.add(part)
        frame = root
        for key in part.frames:
            frame = frame.children.setdefault(key, Frame(*key))
            frame.add(part)
    return root


def drawn(root: Frame) -> list[Placed]:
    """Return the frames that are wide enough to be visible, each before those on top of it."""
    return [*_drawn(root, 0.0, 0, root.value)] if root.value else []


def _drawn(frame: Frame, left: float, depth: int, whole: float) -> Iterator[Placed]:
    if frame.value < _MIN * whole:
        return
    yield Placed(frame, 100 * left / whole, 100 * frame.value / whole, depth)
    for child in sorted(frame.children.values(), key=_order):
        yield from _drawn(child, left, depth + 1, whole)
        left += child.value


def _order(frame: Frame) -> tuple[bool, float, str]:
    return frame.kind == "overhead", -frame.value, frame.name


def flame_graph(
    root: Frame, legend: str, description: str, text: Callable[[Placed, bool], str]
) -> Markup:
    """The drawing.  `legend` is above it, and `description` is for those who do not see it.

    `text` gives the text of a frame where it is pointed at; its second argument is True for the
    whole.  The keys of the colours are those of the kinds and directions that are there.
    """
    frames = drawn(root)
    rows = max((shown.depth for shown in frames), default=0) + 1
    template = page_environment("olympus_cli.reports.html").get_template("flame.html")
    return Markup(
        template.render(
            frames=[(shown, text(shown, shown.depth == 0)) for shown in frames],
            row=_ROW,
            height=rows * _ROW,
            legend=legend,
            description=description,
            has_overhead=any(shown.frame.kind == "overhead" for shown in frames),
        )
    )
