"""The measured time of a call, kernel by kernel, and rows by line, scope or operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from olympus_core.analysis.records import Bound, Direction, Estimate, KernelEstimate
from olympus_core.base.errors import UsageError

ProfileKind = Literal["line", "scope", "operation", "kernel"]

#: The names of the time before the first kernel and after the last, and of the time between.
CALL, BETWEEN = "(call)", "(between kernels)"


@dataclass(frozen=True)
class KernelProfile:
    """A kernel of a program, and its measured time.

    `seconds` is the time of all its `calls` in one call of the program, the median of the runs.
    `estimated` is the estimate for as many calls, None if the estimate does not have the kernel.
    `bound` is the estimate's. `line` is the user's line as "path/file.py:41"; a kernel that the
    compiler inserted has the line of the operation that needs it. `scope` is that of `name_scope`.
    `backward` is True if the kernel belongs to the backward pass of a derivative.
    """

    name: str
    operation: str
    line: str | None
    scope: str
    backward: bool
    calls: int
    seconds: float
    estimated: float | None
    bound: Bound | None
    of_seconds: float = field(repr=False)  # of all kernels

    @property
    def is_overhead(self) -> bool:
        """True if it is time in which no kernel ran; then its name is in parentheses."""
        return self.name in (CALL, BETWEEN)

    @property
    def share(self) -> float:
        """The fraction of the total time that the kernel takes, from 0 to 1."""
        return self.seconds / self.of_seconds if self.of_seconds else 0.0


@dataclass(frozen=True)
class ProfileRow:
    """The part of a profile that belongs to one line, scope, operation or kernel.

    `estimated` is the sum of the estimates, None if there are none. `kernels` is the number of
    kernels, and `calls` the number of their calls.
    """

    key: str
    seconds: float
    share: float
    estimated: float | None
    kernels: int
    calls: int
    direction: Direction


class Span(NamedTuple):
    """An event of a thread of the runtime, in seconds since the call began.

    `kernel` is the name of the kernel that ran, "" for work of the runtime itself.
    """

    thread: int
    name: str
    start: float
    seconds: float
    kernel: str


@dataclass(frozen=True, eq=False)
class Profile:
    """The measurements of XLA's profiler of the calls of a program; see docs/how-to/profile.md.

    - `runs`: the number of measured calls; all times are medians.
    - `seconds`: one call, from its start until its results are ready, with the profiler on.
    - `undisturbed`: the same without the profiler.
    - `kernel_seconds`: the part of `seconds` in which at least one kernel ran.
    - `kernels`: the slowest first; at the end is the time in which no kernel ran, with names in
      parentheses.  The sum of concurrent kernels may exceed `seconds`.
    - `unseen`: kernels of the estimate without an event in the profile.
    - `timeline`: the events of the runtime's `threads` in the fastest of the calls.

    >>> compiled.profile(x).by("line")[0].key
    '/home/me/model.py:41'
    """

    runs: int
    seconds: float
    undisturbed: float
    kernel_seconds: float
    kernels: tuple[KernelProfile, ...]
    unseen: tuple[KernelEstimate, ...]
    estimate: Estimate = field(repr=False)
    threads: tuple[str, ...] = field(repr=False)
    timeline: tuple[Span, ...] = field(repr=False)

    @property
    def coverage(self) -> float:
        """The fraction of the time of a call in which a kernel ran, from 0 to 1."""
        return self.kernel_seconds / self.seconds if self.seconds else 0.0

    @property
    def estimated(self) -> float:
        """The estimate of a call in seconds; each kernel counts as often as it was called."""
        seen = (kernel.estimated or 0.0 for kernel in self.kernels)
        return sum(seen) + sum(kernel.seconds for kernel in self.unseen)

    def by(self, kind: ProfileKind) -> tuple[ProfileRow, ...]:
        """Return the time by "line", "scope", "operation" or "kernel", the slowest first.

        The sum of the rows is that of `kernels`. Lines are `path:line`, "(unknown)" if the program
        does not have them. A scope is "" outside of any scope. An operation has its name in the
        program. Time in which no kernel ran has rows of its own, "(call)" and "(between kernels)".

        Raises UsageError for another kind.

        >>> [row.key for row in profile.by("operation")]
        ['dot_general', 'tanh', '(call)', '(between kernels)']
        """
        if kind not in get_args(ProfileKind):
            kinds = ", ".join(get_args(ProfileKind))
            raise UsageError(f"a profile is not listed by {kind!r}; it is by one of {kinds}")
        groups: dict[str, list[KernelProfile]] = {}
        for kernel in self.kernels:
            groups.setdefault(_key(kernel, kind), []).append(kernel)
        rows = [_row(key, kernels) for key, kernels in groups.items()]
        return tuple(sorted(rows, key=lambda row: (-row.seconds, row.key)))


def _key(kernel: KernelProfile, kind: ProfileKind) -> str:
    if kind == "kernel" or kernel.is_overhead:
        return kernel.name
    if kind == "line":
        return kernel.line or "(unknown)"
    return kernel.scope if kind == "scope" else kernel.operation


def _row(key: str, kernels: Sequence[KernelProfile]) -> ProfileRow:
    known = [kernel.estimated for kernel in kernels if kernel.estimated is not None]
    passes = {kernel.backward for kernel in kernels}
    direction: Direction = "backward" if True in passes else "forward"
    return ProfileRow(
        key,
        seconds=sum(kernel.seconds for kernel in kernels),
        share=sum(kernel.share for kernel in kernels),
        estimated=sum(known) if known else None,
        kernels=sum(not kernel.is_overhead for kernel in kernels),
        calls=sum(kernel.calls for kernel in kernels),
        direction="both" if len(passes) > 1 else direction,
    )
