"""The cost of a program by the calls of the user's functions: as rows and as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from olympus.analysis import CostRow
from olympus.files import Forms
from olympus_cli.reports.program_figures import FORMS, row_form
from olympus_cli.reports.relative_paths import relative

if TYPE_CHECKING:
    from olympus.analysis import Cost


@dataclass(frozen=True)
class FrameReport:
    """A function of the user's and the line of it that runs, such as "model.py:12"."""

    function: str
    line: str

    def __str__(self) -> str:
        return f"{self.function or '(unknown)'} ({self.line})"


@dataclass(frozen=True)
class StackReport(CostRow):
    """The part of a cost that one stack has; `frames` are the calls, the outermost first.

    `key` is the last line.  Operations without a line have no frames.
    """

    frames: tuple[FrameReport, ...]


#: The keys of the rows in JSON.
STACK_FORMS: Forms = {**FORMS, StackReport: row_form(StackReport)}


def stack_reports(cost: Cost, root: Path) -> tuple[StackReport, ...]:
    """Return the rows of `cost.by_stack()`, with lines relative to `root`."""
    rows = tuple(
        StackReport(
            **vars(stack.row),
            frames=tuple(
                FrameReport(frame.function.replace("<locals>.", ""), f"{frame.file}:{frame.line}")
                for frame in stack.frames
            ),
        )
        for stack in cost.by_stack()
    )
    return relative(rows, root)


@dataclass
class CallNode:
    """A node of the tree of calls: its frame, and the sums of the stacks that go through it."""

    frames: tuple[FrameReport, ...]
    flops: int = 0
    bytes: int = 0
    operations: int = 0
    share: float = 0.0
    backward_flops: int = 0
    backward_bytes: int = 0
    directions: set[str] = field(default_factory=set)
    calls: dict[FrameReport, CallNode] = field(default_factory=dict)

    @property
    def direction(self) -> str:
        """The pass of a derivative with all of the cost, or "both"."""
        return next(iter(self.directions)) if len(self.directions) == 1 else "both"

    def add(self, row: StackReport) -> None:
        """Add a stack."""
        self.flops += row.flops
        self.bytes += row.bytes
        self.operations += row.operations
        self.share += row.share
        self.backward_flops += row.backward_flops
        self.backward_bytes += row.backward_bytes
        self.directions.add(row.direction)


def call_tree(rows: Sequence[StackReport]) -> CallNode:
    """The root of the tree: it has no frame, and the sums of all rows.

    A call that does nothing but one other call is one node with it, of several frames.
    """
    root = CallNode(())
    for row in rows:
        root.add(row)
        node = root
        for frame in row.frames or (FrameReport("", "(unknown)"),):
            node = node.calls.setdefault(frame, CallNode((frame,)))
            node.add(row)
    root.calls = {frame: _joined(call) for frame, call in root.calls.items()}
    return root


def _joined(call: CallNode) -> CallNode:
    """The call with the only one that it makes, and so on, while that has all of its cost."""
    frames = call.frames
    while len(call.calls) == 1:
        (only,) = call.calls.values()
        if only.operations != call.operations:
            break  # the line does something of its own
        frames += only.frames
        call = only
    inner = {frame: _joined(callee) for frame, callee in call.calls.items()}
    return replace(call, frames=frames, calls=inner)


def call_rows(root: CallNode, most: int) -> tuple[list[tuple[int, CallNode]], int]:
    """Return the `most` most expensive calls of a tree with their depths, and the number omitted.

    A call comes before its own calls, and expensive calls before cheap ones.
    """
    every = [*_below(root, 0)]
    dearest = sorted(every, key=lambda row: (*_dearness(row[1]), row[0]))[:most]
    chosen = {id(call) for _, call in dearest}
    shown = [(depth, call) for depth, call in every if id(call) in chosen]
    return shown, len(every) - len(shown)


def _below(call: CallNode, depth: int) -> Iterator[tuple[int, CallNode]]:
    for inner in sorted(call.calls.values(), key=_dearness):
        yield depth, inner
        yield from _below(inner, depth + 1)


def _dearness(call: CallNode) -> tuple[float, ...]:
    return -call.share, -call.flops, -call.bytes
