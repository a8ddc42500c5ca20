"""The cost of a program: its figures, its unknown parts, and rows by line or operation."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from olympus_core.analysis.cost.walk import FIGURES, Key, walk_module
from olympus_core.analysis.records import CostFigures, CostRow, Direction, Unknown
from olympus_core.analysis.sources.places import Frame
from olympus_core.base import gc_pause
from olympus_core.base.errors import ArtifactError, UsageError

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_G = TypeVar("_G")
Kind = Literal["line", "scope", "operation", "dtype"]

#: The largest figure. Those of large training runs have 25 digits; a hostile file may have nested
#: loops, or meshes, with counts that no floating-point number can represent.
_LARGEST = 10**30

_NAME_OF: Mapping[str, Callable[[Key], str]] = {
    "line": lambda key: str(key.place) or "(unknown)",
    "scope": lambda key: key.place.scope,
    "operation": lambda key: key.operation,
    "dtype": lambda key: key.dtype,
}


class CostStack(NamedTuple):
    """The part of a cost that one stack of calls has.

    `frames` are the lines of the user's functions that call one another, the outermost first, and
    the last is the line of the operations.  They are empty for operations without a line.
    """

    frames: tuple[Frame, ...]
    row: CostRow


@dataclasses.dataclass(frozen=True, eq=False)
class Cost(CostFigures):
    """The cost of a program, counted from its StableHLO; docs/explanation/cost.md explains it.

    For a program of several devices it is the cost of all devices together, as the program is
    written: the operations of a `jit` on whole arrays, and the body of a `shard_map` on one device
    times the number of devices. `Compiled.cost_per_device` has the cost of each device after
    compilation.

    A figure that depends on data, or on an operation without a rule, is None, and `unknown` has the
    reason. `at_least` has all figures, with one trip of each such loop (which may not run) and
    nothing for such an operation. If everything is known it is the cost itself.

    - `flops`: operations on floating-point and complex numbers; a multiply-add is two.
    - `matmul_flops`: those of products and convolutions, by the operands' dtype, integers too.
    - `transcendentals`: elements of exp, log, tanh, sqrt and the like, which `flops` excludes.
    - `bytes`: operands read and results written, operation by operation, without fusion.
    - `io_bytes`: arguments, results and constants, once.
    - `operations`: the number of executed operations.
    - `collective_bytes`: the bytes that the program's own collectives move in or out of the
      devices, whichever is more; `Compiled.collectives` has the ones that the compiler adds.

    >>> jit(lambda x: x @ x).lower(ShapeDtypeStruct((64, 64), "float32")).cost().flops
    524288
    """

    unknown: tuple[Unknown, ...]
    _rows: Mapping[Key, Sequence[int]] = dataclasses.field(repr=False)
    #: The iteration counts of loops by line; None if unknown, or different for loops of one line.
    loops: Mapping[str, int | None] = dataclasses.field(default_factory=dict, repr=False)

    # two costs with equal figures may have different rows
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @functools.cached_property
    def at_least(self) -> Cost:
        """The known part of the cost, with one trip of each loop of unknown count."""
        if not self.unknown:
            return self
        return _cost(self._rows, frozenset(), (), self.io_bytes, self.loops)

    def _repr_html_(self) -> str:
        """Return the figures and the most expensive lines, for a notebook."""
        from olympus_core.base.notebook import cost_html  # few programs are shown

        return cost_html(self)

    def by(
        self, kind: Kind, *, operation: str | None = None, dtype: str | None = None
    ) -> tuple[CostRow, ...]:
        """Return the cost by "line", "scope", "operation" or "dtype", the most expensive first.

        With `operation` or `dtype`, return only the part with these.

        The sum of the rows is exactly the figures of `at_least`. Lines are `path:line`, "(unknown)"
        if the program does not have them. A scope is that of `name_scope`, "" outside of any scope.
        An operation is StableHLO's, or `custom call target`. A dtype is that of an operation's
        result, or of the operands of a product or comparison.

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
        return tuple(sorted((row for _, row in rows), key=_by_cost))

    def by_stack(self) -> tuple[CostStack, ...]:
        """Return the cost by the stack of the user's functions, the most expensive first.

        The sum of the rows is exactly the figures of `at_least`; the `key` of a row is its last
        line. The stacks are those of `Lowered.cost(stacks=True)` for a function that was traced
        with `include_full_tracebacks_in_locations`; else each has a single frame, the line.

        >>> [[frame.function for frame in stack.frames] for stack in cost.by_stack()]
        [...]
        """
        rows = self._summed((key.place.stack, key) for key in self._rows)
        stacks = [
            CostStack(stack[::-1], dataclasses.replace(row, key=_line(stack)))
            for stack, row in rows
        ]
        return tuple(sorted(stacks, key=lambda stack: (*_by_cost(stack.row), stack.frames)))

    def _summed(self, keys: Iterable[tuple[_G, Key]]) -> Iterator[tuple[_G, CostRow]]:
        """Yield a row for each group, summed over its keys."""
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
    """Return a row of forward and backward figures; `measure` selects the figure of the share."""
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


def _by_cost(row: CostRow) -> tuple[Any, ...]:
    return -row.flops, -row.bytes, -row.transcendentals, row.key


def cost_of_module(
    module: ir.Module, trips: Mapping[str, int] | None = None, *, stacks: bool = False
) -> Cost:
    """Return the cost of a StableHLO module: one run of its function `main`.

    With `stacks`, the call stacks in its locations are distinguished, for `Cost.by_stack`.

    `trips` gives the iteration counts of loops that depend on data, by the end of their
    `path:line`. Raises UsageError for a key that matches no loop's line, or a count that is not an
    integer of 0 or more; ArtifactError for a function that calls itself, and for a figure of more
    than 30 digits.

    >>> cost_of_module(jit(lambda x: x @ x).lower(numpy.ones((8, 8))).module).flops
    1024
    """
    with gc_pause.paused():
        walked = walk_module(module, {}, stacks)
        loops = dict(walked.loops)
        if trips:
            given_trips = _by_line(trips, loops)
            walked = walk_module(module, given_trips, stacks)
            loops |= {line: count for line, count in given_trips.items() if loops[line] is None}
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
    """Return the count for each line that ends with a key; the longest key takes precedence."""
    if not isinstance(trips, Mapping):
        raise UsageError(f"trips is a mapping from `path:line` to a number, not {trips!r}")
    for key in trips:
        if not isinstance(key, str):
            raise UsageError(f"the keys of trips are lines, such as 'solver.py:41', not {key!r}")
    totals: dict[str, int] = {}
    for key in sorted(trips, key=len):
        count = trips[key]
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise UsageError(f"the trips of a loop are a number, 0 or more, not {count!r} ({key})")
        lines = [line for line in loops if line == key or line.endswith(os.sep + key)]
        if not lines:
            raise UsageError(
                f"trips names {key!r}, where the program has no loop", hint=_nearest(key, loops)
            )
        totals.update(dict.fromkeys(lines, int(count)))
    return totals


def _nearest(key: str, loops: Mapping[str, int | None]) -> str:
    """Return the hint: the loop of unknown count with the most similar line."""
    lines = [line for line, count in loops.items() if line and count is None]
    if not lines:
        return "the program has no loop whose number of iterations depends on data"
    names = {os.path.basename(line): line for line in lines}
    close = difflib.get_close_matches(os.path.basename(key), names, n=1, cutoff=0.0)
    return f"the nearest is {names[close[0]]}"
