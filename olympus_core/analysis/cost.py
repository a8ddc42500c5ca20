"""The cost of a program: its figures, what of them is not known, and rows by line or operation."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from olympus_core import collection
from olympus_core.analysis.places import Frame
from olympus_core.analysis.walk import FIGURES, Key, walk
from olympus_core.errors import ArtifactError, UsageError

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["Cost", "CostRow", "CostStack", "Direction", "Kind", "Unknown", "cost_of_module"]

_G = TypeVar("_G")
Kind = Literal["line", "scope", "operation", "dtype"]
Direction = Literal["forward", "backward", "both"]

#: The greatest figure.  Those of large training runs have 25 digits; a hostile file may have nested
#: loops, or meshes, whose counts no floating-point number can hold.
_LARGEST = 10**30

_NAME_OF: Mapping[str, Callable[[Key], str]] = {
    "line": lambda key: str(key.place) or "(unknown)",
    "scope": lambda key: key.place.scope,
    "operation": lambda key: key.operation,
    "dtype": lambda key: key.dtype,
}


class Unknown(NamedTuple):
    """Something whose cost is not known: what it is, its line `path:line`, and why.

    >>> str(Unknown("while loop", "solver.py:41", "how often it runs depends on data"))
    'the cost of the while loop at solver.py:41 is not known: how often it runs depends on data'
    """

    what: str
    line: str | None
    why: str

    def __str__(self) -> str:
        place = f" at {self.line}" if self.line else ""
        return f"the cost of the {self.what}{place} is not known: {self.why}"


@dataclasses.dataclass(frozen=True)
class CostRow:
    """The part of a cost that one line, scope, operation or dtype has.

    The `backward_` figures are the part that the backward pass of a derivative made.  `share` is
    of all flops, or of all bytes in a program without flops; from 0 to 1.
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


class CostStack(NamedTuple):
    """The part of a cost that one stack of calls has.

    `frames` are the lines of the user's functions that call one another, the outermost first, and
    the last is the line of the operations.  They are empty for operations without a line.
    """

    frames: tuple[Frame, ...]
    row: CostRow


@dataclasses.dataclass(frozen=True, eq=False)
class Cost:
    """What a program costs, counted from its StableHLO; docs/cost.md says how.

    Of a program of several devices it is what all of them do together, as the program is written:
    of a `jit` the operations on whole arrays, of the body of a `shard_map` what a device does in it
    times the devices.  `Compiled.cost_per_device` has what each device does once compiled.

    A figure that depends on data, or on an operation that no rule counts, is None, and `unknown`
    says why; `at_least` has all figures, with one trip of such a loop (which may run never) and
    nothing for such an operation, and is the cost itself where everything is known.

    - `flops`: operations on floating-point and complex numbers; a multiply-add is two.
    - `matmul_flops`: those of products and convolutions, by the operands' dtype, integers too.
    - `transcendentals`: elements of exp, log, tanh, sqrt and the like, apart from `flops`.
    - `bytes`: operands read and results written, operation by operation, as if nothing was fused.
    - `io_bytes`: arguments, results and constants, once.
    - `operations`: how many are executed.
    - `collective_bytes`: what the collectives that the program itself has move in or out of the
      devices, whichever is more; those that the compiler adds are in `Compiled.collectives`.

    >>> jit(lambda x: x @ x).lower(ShapeDtypeStruct((64, 64), "float32")).cost().flops
    524288
    """

    flops: int | None
    matmul_flops: Mapping[str, int] | None
    transcendentals: int | None
    bytes: int | None
    io_bytes: int
    operations: int | None
    collective_bytes: int | None
    unknown: tuple[Unknown, ...]
    _rows: Mapping[Key, Sequence[int]] = dataclasses.field(repr=False)
    #: how often the loops of each line run; None where it is not known, or not the same for all
    loops: Mapping[str, int | None] = dataclasses.field(default_factory=dict, repr=False)

    @functools.cached_property
    def at_least(self) -> Cost:
        """The cost with one trip of each loop whose count is not known, and what else is known."""
        if not self.unknown:
            return self
        return _cost(self._rows, frozenset(), (), self.io_bytes, self.loops)

    def _repr_html_(self) -> str:
        """The figures and the dearest lines, for a notebook."""
        from olympus_core.notebook import cost_html  # few programs are shown

        return cost_html(self)

    @property
    def intensity(self) -> float | None:
        """Flops per byte; None where one of them is not known, or no byte is moved."""
        if self.flops is None or not self.bytes:
            return None
        return self.flops / self.bytes

    def by(
        self, kind: Kind, *, operation: str | None = None, dtype: str | None = None
    ) -> tuple[CostRow, ...]:
        """The cost by "line", "scope", "operation" or "dtype", the dearest first.

        With `operation` or `dtype`, the part of it that has these.

        The rows add up to the figures of `at_least` exactly.  Lines are `path:line`, "(unknown)"
        where the program does not say; a scope is that of `name_scope`, "" outside of any; an
        operation is StableHLO's, or `custom call target`; a dtype is that of an operation's
        result, of a product's or comparison's operands.

        Raises UsageError for another kind.

        >>> [row.key for row in cost.by("line")]
        [...]
        """
        name_of = _NAME_OF.get(kind)
        if name_of is None:
            kinds = ", ".join(get_args(Kind))
            raise UsageError(f"a cost is not listed by {kind!r}; it is by one of {kinds}")
        keys = [
            key
            for key in self._rows
            if operation in (None, key.operation) and dtype in (None, key.dtype)
        ]
        rows = self._summed((name_of(key), key) for key in keys)
        return tuple(sorted((row for _, row in rows), key=_dearest))

    def by_stack(self) -> tuple[CostStack, ...]:
        """The cost by the stack of the user's functions, the dearest first.

        The rows add up to the figures of `at_least` exactly; the `key` of one is its last line.
        The stacks are those of `Lowered.cost(stacks=True)` of a function that was traced with
        `include_full_tracebacks_in_locations`; else each has a single frame, the line.

        >>> [[frame.function for frame in stack.frames] for stack in cost.by_stack()]
        [...]
        """
        rows = self._summed((key.place.stack, key) for key in self._rows)
        found = [
            CostStack(stack[::-1], dataclasses.replace(row, key=_line(stack)))
            for stack, row in rows
        ]
        return tuple(sorted(found, key=lambda each: (*_dearest(each.row), each.frames)))

    def _summed(self, keys: Iterable[tuple[_G, Key]]) -> Iterator[tuple[_G, CostRow]]:
        """A row for each group, of the keys that are in it."""
        sums: dict[_G, list[int]] = {}
        for group, key in keys:
            row = sums.setdefault(group, [0] * (2 * len(FIGURES)))
            start = len(FIGURES) if key.place.backward else 0
            for i, n in enumerate(self._rows[key], start):
                row[i] += n
        least = self.at_least
        total = (0, least.flops) if least.flops else (1, least.bytes)
        return ((group, _row(str(group), both, *total)) for group, both in sums.items())


def _line(stack: Sequence[Frame]) -> str:
    return f"{stack[0].file}:{stack[0].line}" if stack else "(unknown)"


def _row(key: str, both: list[int], measure: int, total: int | None) -> CostRow:
    """A row of forward figures and then backward ones, the share being of one of two figures."""
    n = len(FIGURES)
    forward, backward = (dict(zip(FIGURES, part, strict=True)) for part in (both[:n], both[n:]))
    sums = {name: forward[name] + backward[name] for name in FIGURES}
    direction: Direction = "both"
    if not backward["operations"]:
        direction = "forward"
    elif not forward["operations"]:
        direction = "backward"
    return CostRow(
        key,
        **sums,
        backward_flops=backward["flops"],
        backward_bytes=backward["bytes"],
        share=sums[("flops", "bytes")[measure]] / total if total else 0.0,
        direction=direction,
    )


def _dearest(row: CostRow) -> tuple[Any, ...]:
    return -row.flops, -row.bytes, -row.transcendentals, row.key


def cost_of_module(
    module: ir.Module, trips: Mapping[str, int] | None = None, *, stacks: bool = False
) -> Cost:
    """What a module of StableHLO costs: its function `main`, run once.

    With `stacks`, the calls that its locations have are kept apart, for `Cost.by_stack`.

    `trips` says how often loops run whose number of iterations depends on data, by the end of
    their `path:line`.  Raises UsageError for a key that is the end of no loop's line, or a number
    that is not an integer, 0 or more; ArtifactError for a function that calls itself, and where a
    figure has more than 30 digits.
    """
    with collection.paused():
        walked = walk(module, {}, stacks)
        loops = dict(walked.loops)
        if trips:
            said = _by_line(trips, loops)
            walked = walk(module, said, stacks)
            loops |= {line: count for line, count in said.items() if loops[line] is None}
    tally = walked.tally
    if max(tally.totals()) > _LARGEST:
        raise ArtifactError(
            "the program's loops run so often, or its devices are so many, that a count has more "
            "than 30 digits: no machine runs such a program"
        )
    unknown = {Unknown(g.what, str(g.place) or None, g.why): None for g in tally.gaps}
    return _cost(tally.rows, frozenset(tally.hidden()), tuple(unknown), walked.io_bytes, loops)


def _cost(
    rows: Mapping[Key, Sequence[int]],
    hidden: frozenset[str],
    unknown: tuple[Unknown, ...],
    io_bytes: int,
    loops: Mapping[str, int | None],
) -> Cost:
    sums = dict.fromkeys(FIGURES, 0)
    matmul: dict[str, int] = {}
    for key, figures in rows.items():
        for name, n in zip(FIGURES, figures, strict=True):
            sums[name] += n
        if products := figures[FIGURES.index("matmul_flops")]:
            matmul[key.dtype] = matmul.get(key.dtype, 0) + products
    known: dict[str, Any] = {name: None if name in hidden else n for name, n in sums.items()}
    if known["matmul_flops"] is not None:
        known["matmul_flops"] = MappingProxyType(dict(sorted(matmul.items())))
    return Cost(
        **known,
        io_bytes=io_bytes,
        unknown=unknown,
        _rows=rows,
        loops=MappingProxyType(dict(loops)),
    )


def _by_line(trips: Mapping[str, int], loops: Mapping[str, int | None]) -> dict[str, int]:
    """The number for each line that a key is the end of; the longest key goes first."""
    if not isinstance(trips, Mapping):
        raise UsageError(f"trips is a mapping from `path:line` to a number, not {trips!r}")
    for key in trips:
        if not isinstance(key, str):
            raise UsageError(f"the keys of trips are lines, such as 'solver.py:41', not {key!r}")
    found: dict[str, int] = {}
    for key in sorted(trips, key=len):
        count = trips[key]
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise UsageError(f"the trips of a loop are a number, 0 or more, not {count!r} ({key})")
        lines = [line for line in loops if line == key or line.endswith(os.sep + key)]
        if not lines:
            raise UsageError(
                f"trips names {key!r}, where no loop stands", hint=_nearest(key, loops)
            )
        found.update(dict.fromkeys(lines, int(count)))
    return found


def _nearest(key: str, loops: Mapping[str, int | None]) -> str:
    """What to write instead: the loop nearest to a key, of those that depend on data if any do."""
    lines = [line for line, count in loops.items() if line and count is None]
    if not lines:
        return "the program has no loop whose number of iterations depends on data"
    names = {os.path.basename(line): line for line in lines}
    close = difflib.get_close_matches(os.path.basename(key), names, n=1, cutoff=0.0)
    return f"the nearest is {names[close[0]]}"
