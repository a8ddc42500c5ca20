"""The figures of programs as records: costs, kernels, memory and collectives.

The analyses return them, and reports contain them. The module imports no analysis, because reports
are also read where nothing is analyzed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

Direction = Literal["forward", "backward", "both"]

#: The largest part of a kernel's time: its operations, its memory traffic, its traffic to other
#: devices, or its start.
Bound = Literal["compute", "memory", "network", "launch"]

BufferKind = Literal["argument", "result", "temporary", "constant"]


class Unknown(NamedTuple):
    """A part of unknown cost: its name, its line `path:line`, and the reason.

    >>> str(Unknown("while loop", "solver.py:41", "how often it runs depends on data"))
    'the cost of the while loop at solver.py:41 is not known: how often it runs depends on data'
    """

    what: str
    line: str | None
    why: str

    def __str__(self) -> str:
        place = f" at {self.line}" if self.line else ""
        return f"the cost of the {self.what}{place} is not known: {self.why}"


@dataclass(frozen=True)
class CostFigures:
    """The figures of a `Cost`, for one call; None is unknown."""

    flops: int | None
    matmul_flops: Mapping[str, int] | None
    transcendentals: int | None
    bytes: int | None
    io_bytes: int
    operations: int | None
    collective_bytes: int | None

    @property
    def figures(self) -> CostFigures:
        """The figures alone."""
        names = CostFigures.__dataclass_fields__
        return CostFigures(**{name: getattr(self, name) for name in names})

    @property
    def intensity(self) -> float | None:
        """Flops per byte; None where one of them is not known, or no byte is moved."""
        if self.flops is None or not self.bytes:
            return None
        return self.flops / self.bytes


@dataclass(frozen=True)
class CostRow:
    """The part of a cost that belongs to one line, scope, operation or dtype.

    The `backward_` figures are the part of the backward pass of a derivative. `share` is the
    fraction of all flops, or of all bytes in a program without flops; from 0 to 1.
    """

    key: str
    flops: int
    matmul_flops: int
    transcendentals: int
    bytes: int
    operations: int
    collective_bytes: int
    backward_flops: int
    backward_bytes: int
    share: float
    direction: Direction


@dataclass(frozen=True)
class KernelEstimate:
    """A kernel of a program, and the estimate of its time.

    `flops` and `bytes` count one call; unlike elsewhere, integer products count as flops. `dtype`
    is the dtype of the operands of its products, or else the widest that it computes in. `seconds`
    is the time of all its `calls`. `operation` is the program's name for it, and `line` is the
    user's line, such as "path/file.py:41", if it is known.
    """

    name: str
    operation: str
    line: str | None
    flops: int
    bytes: int
    dtype: str | None
    calls: int
    bound: Bound
    seconds: float
    of_seconds: float = field(default=0.0, repr=False)  # the program's; its Estimate sets it

    @property
    def share(self) -> float:
        """The fraction of the program's time that the kernel takes, from 0 to 1."""
        return self.seconds / self.of_seconds if self.of_seconds else 0.0


@dataclass(frozen=True)
class Estimate:
    """An estimate of the time of one call of a program on a device; it was not measured.

    `seconds` is the sum over `kernels`, which are in the order of execution. The overheads of a
    call are at the end, as kernels with names in parentheses. `assumptions` are sentences about the
    assumptions. `unknown` are sentences about costs that the program does not determine and that
    the figure omits or includes only in part.
    """

    device: str
    seconds: float
    kernels: tuple[KernelEstimate, ...]
    assumptions: tuple[str, ...]
    unknown: tuple[str, ...]

    def __post_init__(self) -> None:
        """Set the time of the program in each kernel, for the kernel's `share`."""
        if any(kernel.of_seconds != self.seconds for kernel in self.kernels):
            kernels = (replace(kernel, of_seconds=self.seconds) for kernel in self.kernels)
            object.__setattr__(self, "kernels", tuple(kernels))


class LineBytes(NamedTuple):
    """A source line as "path/file.py:41", None if not known, and the bytes that it produces."""

    line: str | None
    bytes: int


@dataclass(frozen=True)
class Collective:
    """An operation by which devices send each other parts of arrays.

    `kind` is HLO's name, such as "all-reduce". `axes` are the mesh axes that it goes along; None if
    no axes of the mesh describe it, or if the mesh is not known. `devices` is the number of devices
    in a group. `bytes` is the size of the arrays that go into a device or come out of it in one
    call, whichever is more. `sent` is the number of bytes that each device sends to others in one
    call, by the formulas of `Transfer.sent`. `calls` is the number of runs in a call of the
    program, and `seconds` is the estimated time of all runs. `operation` is its name in the
    program. `line` is the user's line as "path/file.py:41", None if it is not known. `loops` are
    the lines of the loops around it with an unknown number of iterations. Each of these counts as
    one iteration; with any of them `calls` and `seconds` are lower bounds.

    XLA combines collectives of several lines, such as those of the gradients of several weights,
    and gives the result one of their lines. `lines` are the `bytes` by the line that makes the
    arrays, the most first. If one line makes them, `lines` has `line` only.
    """

    kind: str
    axes: tuple[str, ...] | None
    devices: int
    bytes: int
    sent: int
    calls: int
    line: str | None
    operation: str
    seconds: float
    loops: tuple[str, ...] = ()
    lines: tuple[LineBytes, ...] = ()


@dataclass(frozen=True)
class AxisTraffic:
    """The sums over the collectives along the same mesh axes, in one call of the program.

    `axes` are as in `Collective`. `calls` counts the collectives that run. `bytes` and `sent` are
    the sums over them for each device, and `seconds` is the estimate of their time. `loops` are
    those of the collectives: with any of them the figures are lower bounds.
    """

    axes: tuple[str, ...] | None
    calls: int
    bytes: int
    sent: int
    seconds: float
    loops: tuple[str, ...] = ()

    def __add__(self, collective: Collective) -> AxisTraffic:
        """Return the sums with one more collective along the same axes."""
        return replace(
            self,
            calls=self.calls + collective.calls,
            bytes=self.bytes + collective.calls * collective.bytes,
            sent=self.sent + collective.calls * collective.sent,
            seconds=self.seconds + collective.seconds,
            loops=tuple(dict.fromkeys((*self.loops, *collective.loops))),
        )


@dataclass(frozen=True)
class DeviceWork:
    """The work of one device, or of all devices, in a call; the fields are those of DeviceCost."""

    flops: int
    matmul_flops: Mapping[str, int]
    transcendentals: int
    bytes: int
    collective_bytes: int
    sent: int


class LiveBuffer(NamedTuple):
    """A piece of memory that is live at the peak, and its contents.

    `shape` and `dtype` are those of the array, `dtype` "tuple" for a table of pointers to arrays.
    `name` is that of the argument or the instruction; `operation` and `line` are those of its
    producer. A donated argument is an argument until its last read, and then a result. If the
    layout pads the array to tiles, as on a TPU, `unpadded` are the bytes without the padding and
    `tile` is a tile.
    """

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    operation: str
    line: str | None
    kind: BufferKind
    name: str
    unpadded: int | None = None
    tile: tuple[int, ...] = ()


@dataclass(frozen=True)
class MemorySizes:
    """The sizes of a `Memory`, in bytes; None is unknown."""

    arguments: int | None
    results: int | None
    temporaries: int | None
    aliased: int | None
    constants: int | None
    code: int | None
    peak: int | None
    allocated: int | None
    workspace_bound: int = field(default=0, kw_only=True)

    @property
    def needed(self) -> int | None:
        """The memory that a device needs: all that the runtime allocates, or else the peak."""
        return self.peak if self.allocated is None else self.allocated

    def bound(self, size: int | None) -> int | None:
        """Return an upper bound of one of the sizes plus the kernels' own memory."""
        return None if size is None else size + self.workspace_bound


class MemoryTotal(MemorySizes):
    """The memory of a compiled program on all its devices; the fields are those of Memory."""
