"""The cost of a program by the calls of the user's functions, as a flame graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from olympus_cli.reports.charts.bars import percent
from olympus_cli.reports.flame import FlamePart, Placed, add_up, flame_graph
from olympus_cli.reports.stacks import StackReport
from olympus_cli.text.units import byte_size, count

_MAX_DEPTH = 40  # calls within calls that have frames of their own


def call_graph(stacks: Sequence[StackReport]) -> Markup | None:
    """Return the graph: the width of a frame is its flops, or bytes without any flops.

    None if no stack has a frame.
    """
    if not any(stack.frames for stack in stacks):
        return None
    has_flops = any(stack.flops for stack in stacks)
    root = add_up("one call", [_part(stack, has_flops) for stack in stacks])
    what = "flops" if has_flops else "bytes"
    legend = (
        f"The {what} of one call by the functions that call one another, each at the line that "
        "runs; point at a frame for its figures."
    )
    description = (
        f"Flame graph: the {what} of one call by the stack of functions. "
        "olympus cost --by stack shows the same figures."
    )
    return flame_graph(root, legend, description, _text_of(has_flops))


def _part(stack: StackReport, has_flops: bool) -> FlamePart:
    frames = tuple(
        ("line", f"{frame.function} {frame.line}") for frame in stack.frames[:_MAX_DEPTH]
    )
    frames = frames or (("line", "(unknown)"),)
    if has_flops:
        return FlamePart(frames, stack.flops, stack.backward_flops, stack.bytes)
    return FlamePart(frames, stack.bytes, stack.backward_bytes)


def _text_of(has_flops: bool) -> Callable[[Placed, bool], str]:
    def text(shown: Placed, is_whole: bool) -> str:
        """Return the text of a frame for the mouse pointer."""
        frame = shown.frame
        value = f"{count(round(frame.value))} flops" if has_flops else byte_size(round(frame.value))
        words = [frame.name, f"{value} ({percent(shown.width / 100)})"]
        if frame.other is not None:
            words.append(byte_size(round(frame.other)))
        if 0 < frame.backward < frame.value and not is_whole:
            words.append(f"{percent(frame.backward / frame.value)} backward")
        return ", ".join(words)

    return text
