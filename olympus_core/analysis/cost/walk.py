"""The walk over a StableHLO module: the cost of each place in the source, and the unknown parts."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.analysis.cost.constants import BlockArguments, Knowledge, Memo, Scope, Value
from olympus_core.analysis.cost.stablehlo import Costed, Reader
from olympus_core.analysis.cost.trips import Loop, body_scope, step_scope, steps, trip_count
from olympus_core.analysis.operations.view import NOTHING, Counts
from olympus_core.analysis.sources.places import NOWHERE, Place, Places
from olympus_core.base.errors import ArtifactError, UsageError

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: the figures of a row, in their order
FIGURES = ("flops", "transcendentals", "bytes", "collective_bytes", "matmul_flops", "operations")
_VARIANTS = 300  # values of arguments that one function is walked for
_STEPPED = 10_000  # operations that are counted again where the steps of a loop differ
_OPERATION = ("flops", "transcendentals", "matmul_flops")  # unknown without a rule
#: An axis of a mesh with its size, an axis alone, and the name of a mesh, in the texts of sdy.
_AXIS = re.compile(r'"([^"]*)"=(\d+)')
_NAME = re.compile(r'"([^"]*)"')
_MESH = re.compile(r"<@([\w.$-]+)")


class Key(NamedTuple):
    """The properties by which the walk separates costs."""

    place: Place
    operation: str
    dtype: str


class Gap(NamedTuple):
    """A part of unknown cost at a place; `figures` are the figures that it makes unknown."""

    what: str
    place: Place
    why: str
    figures: frozenset[str]


class Tally:
    """The counted figures by key, and the gaps in the order of their discovery."""

    __slots__ = ("gaps", "rows")

    def __init__(self) -> None:
        self.rows: dict[Key, list[int]] = {}
        self.gaps: dict[Gap, None] = {}

    def count(self, key: Key, counts: Counts) -> None:
        """Add an operation that is executed once."""
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = [0, 0, 0, 0, 0, 0]
        row[0] += counts.flops
        row[1] += counts.transcendentals
        row[2] += counts.bytes
        if counts.collective_bytes:
            row[3] += counts.collective_bytes
        for flops in counts.matmul.values():
            row[4] += flops
        row[5] += 1

    def add(self, other: Tally, times: int = 1, at: Place = NOWHERE) -> None:
        """Add the counts of another tally `times` times, as called at a place."""
        if not times:
            return
        for key, figures in other.rows.items():
            place = key.place.within(at).called_at(at)
            placed_key = key if place is key.place else key._replace(place=place)
            row = self.rows.get(placed_key)
            if row is None:
                self.rows[placed_key] = [n * times for n in figures]
            else:
                for i, n in enumerate(figures):
                    row[i] += n * times
        for gap in other.gaps:
            self.gaps.setdefault(gap._replace(place=gap.place.within(at)))

    def totals(self) -> list[int]:
        """Return the sum of each figure."""
        return [sum(column) for column in zip(*self.rows.values(), strict=True)] or [0] * 6

    def hidden(self) -> set[str]:
        """Return the names of the figures that are not known."""
        return {name for gap in self.gaps for name in gap.figures}


class Walked(NamedTuple):
    """The cost of a module, and the lines of its loops with their counts.

    A line's count is None if it was not proved, or differs between its loops.
    """

    tally: Tally
    io_bytes: int
    loops: Mapping[str, int | None]


def walk_module(module: ir.Module, trips: Mapping[str, int], callers: bool = False) -> Walked:
    """Return the cost of a module's `main`.

    `trips` gives the iteration counts of loops that depend on data, by line, `path:line`. With
    `callers`, places that differ in the calls that lead to them are separate. Raises UsageError for
    a module without that function, and ArtifactError for one with a function that calls itself, or
    has no body.
    """
    walker = _Walker(module, trips, callers)
    if "main" not in walker.functions:
        raise UsageError("a cost is that of a module's function 'main', and there is none")
    tally = walker.function("main", _unknown(), NOWHERE)
    return Walked(tally, walker.io_bytes(), walker.loops)


class _Walker:
    def __init__(self, module: ir.Module, trips: Mapping[str, int], callers: bool) -> None:
        self.reader = Reader()
        self.places = Places(module, callers)
        self.trips = trips
        self.loops: dict[str, int | None] = {}
        self.functions: dict[str, Any] = {}
        self.meshes: dict[str, dict[str, int]] = {}  # the sizes of the axes, by the mesh's name
        for view in module.body.operations:
            op = view.operation
            if op.name == "func.func":
                self.functions[op.attributes["sym_name"].value] = op
            elif op.name == "sdy.mesh":
                sizes = _sizes(str(op.attributes["mesh"]))
                self.meshes[op.attributes["sym_name"].value] = sizes
        self.constants: list[Any] = []
        self.knowledge = Knowledge(self.functions)
        #: an operation without a line was met in the function being walked
        self.bare = False
        #: the cost of each function, by its place of call if not all of it has lines
        self.walked: dict[str, Memo[dict[Place, Tally]]] = {}
        self.walking: set[str] = set()
        #: the number of blocks that are walked step by step, and of operations that may still be
        self.stepping, self.left = 0, _STEPPED

    def io_bytes(self) -> int:
        """Return the bytes of arguments, results and constants; a splat counts one element."""
        kind = self.functions["main"].attributes["function_type"].value
        size = 0
        for type_ in (*kind.inputs, *kind.results):
            with contextlib.suppress(ValueError):  # an unknown shape has a gap of its own
                size += self.reader.tensor(type_).bytes
        return size + sum(dict(map(self._constant, self.constants)).values())

    def _constant(self, op: Any) -> tuple[Any, int]:
        """Return the identity of a constant, and its bytes."""
        tensor = self.reader.tensor(op.results[0].type)
        try:
            elements = op.attributes["value"]
            is_splat = getattr(elements, "is_splat", False)  # a resource does not report it
        except TypeError:  # the bindings have no class for complex elements
            elements = str(op).partition("=")[2]
            is_splat = "dense<(" in elements
        return elements, (tensor._replace(sizes=()) if is_splat else tensor).bytes

    def function(self, name: str, arguments: BlockArguments, at: Place) -> Tally:
        """Return the cost of a function for these arguments, called `at` a place.

        It is walked again only for other values of the arguments that its loops and branches depend
        on, and for another place if not all its operations have lines of their own.
        """
        if name in self.walking:
            raise ArtifactError(f"the program's function '{name}' calls itself")
        memo = self.walked.setdefault(name, Memo())
        if len(memo) > _VARIANTS:
            arguments, self.knowledge.is_cut = _unknown(), True
        by_place = memo.get(arguments)
        if by_place is None:
            by_place = {}
        tally = by_place.get(NOWHERE) or by_place.get(at)
        if tally is not None:
            return tally
        function = self.functions.get(name)
        if function is None or not len(function.regions[0].blocks):
            raise ArtifactError(f"the program calls '{name}', and has no such function")
        outer, self.bare = self.bare, False
        self.walking.add(name)
        block = function.regions[0].blocks[0]
        tally = Tally()
        self.block(
            block, Scope(self.knowledge, block, arguments), tally, at._replace(backward=False)
        )
        self.walking.remove(name)
        by_place[at if self.bare else NOWHERE] = tally
        memo.save(arguments, by_place)
        self.bare = outer  # operations without a line get the place of the call
        return tally

    def block(self, block: Any, scope: Scope, tally: Tally, at: Place) -> None:
        """Count the operations of a block, in `tally`."""
        cost, of, count = self.reader.cost, self.places.of, tally.count
        if self.stepping:
            self.left -= len(block.operations)
        for view in block.operations:
            op = view.operation
            name = op.name
            control = _CONTROL.get(name)
            if control is not None:
                if control is not _Walker.nothing:
                    control(self, op, scope, tally, self.place(op, at))
                continue
            costed = cost(op, name)
            counts, unknown = costed.counts, costed.unknown
            if counts is NOTHING and not unknown:
                if name == "stablehlo.constant":
                    self.constants.append(op)
                continue
            place = of(op.location)
            if not place.line or at.backward:
                place = self.place(op, at)
            count(Key(place, costed.name, costed.dtype), counts)
            if unknown:
                tally.gaps.setdefault(_gap(costed, place))

    def place(self, op: Any, at: Place) -> Place:
        """Return the place of an operation, in a function or region at `at`."""
        place = self.places.of(op.location)
        if not place.line:
            self.bare = True
        return place.within(at)

    def nothing(self, op: Any, scope: Scope, tally: Tally, at: Place) -> None:
        """Skip an operation that only describes placement."""

    def call(self, op: Any, scope: Scope, tally: Tally, at: Place) -> None:
        """Add the cost of the called function."""
        attribute = "callee" if op.name == "func.call" else "decomposition"
        operands = op.operands
        arguments = BlockArguments(lambda number: scope.of(operands[number]))
        inner = self.function(op.attributes[attribute].value, arguments, at)
        tally.add(inner, at=at)

    def region(self, op: Any, scope: Scope, tally: Tally, at: Place) -> None:
        """Add the cost of the regions, run once."""
        for region in op.regions:
            for block in region.blocks:
                self.block(block, scope.inner(block, _unknown()), tally, at)

    def manual(self, op: Any, scope: Scope, tally: Tally, at: Place) -> None:
        """Add the cost of a body that each device runs on its parts of arrays, for all devices."""
        inner = Tally()
        self.region(op, scope, inner, at)
        names = _NAME.findall(str(op.attributes["manual_axes"]))
        sizes = self.axes_of(op) if names else {}
        tally.add(inner, math.prod(sizes.get(name, 1) for name in names))

    def axes_of(self, op: Any) -> Mapping[str, int]:
        """Return the sizes of the axes of the mesh that the shardings of an operation name."""
        for key in ("in_shardings", "out_shardings"):
            text = str(op.attributes[key])
            if match := _MESH.search(text):
                return self.meshes.get(match[1], {})
            if "mesh<" in text:  # the mesh is inline
                return _sizes(text)
        return next(iter(self.meshes.values()), {})  # neither operands nor results

    def branches(self, op: Any, scope: Scope, tally: Tally, at: Place) -> None:
        """Add the branch that is taken, if known; else the most expensive, with the gaps of all."""
        tallies: list[Tally] = []
        for region in op.regions:
            tallies.append(Tally())
            block = region.blocks[0]
            self.block(block, scope.inner(block, _unknown()), tallies[-1], at)
        chosen = scope.of(op.operands[0])
        if chosen is not None and chosen.shape == ():
            tally.add(tallies[_index(op, chosen, len(tallies))])
            return
        tally.add(max(tallies, key=_dearness))
        for branch in tallies:
            tally.gaps.update(branch.gaps)

    def loop(self, op: Any, scope: Scope, tally: Tally, at: Place) -> None:
        """Add the body times its iterations, and the condition once more."""
        loop = Loop.of(op)
        proved = trip_count(loop, scope)
        trips = proved if isinstance(proved, int) else self.trips.get(str(at))
        known, line = proved if isinstance(proved, int) else None, str(at)
        self.loops[line] = known if self.loops.get(line, known) == known else None
        body, condition = Tally(), Tally()
        if trips != 0:
            body = self.steps(loop, scope, trips, at)
        self.block(loop.condition, scope.inner(loop.condition, _unknown()), condition, at)
        tally.add(body)
        tally.add(condition, 2 if trips is None else trips + 1)
        if trips is None:
            sums = [a + b for a, b in zip(body.totals(), condition.totals(), strict=True)]
            hidden = frozenset([f for f, n in zip(FIGURES, sums, strict=True) if n])
            tally.gaps.setdefault(Gap("while loop", at, str(proved), hidden))

    def steps(self, loop: Loop, scope: Scope, trips: int | None, at: Place) -> Tally:
        """Return the cost of all steps of a loop, or of one step if their number is not known.

        The steps have equal costs, unless a loop or branch in them depends on a changed value.
        """
        before, one, total = dict(self.loops), Tally(), Tally()
        inside = body_scope(loop, scope)
        self.block(loop.body, inside, one, at)
        changing = set(inside.given.queried).difference(loop.invariant())
        if changing and trips is not None and trips * len(loop.body.operations) <= self.left:
            after, self.loops = self.loops, before
            if self.step_by_step(loop, scope, trips, changing, total, at):
                for line, count in after.items():  # those in functions that were walked before
                    self.loops.setdefault(line, count)
                return total
            self.loops, total = after, Tally()
        total.add(one, trips or 1)
        return total

    def step_by_step(
        self, loop: Loop, scope: Scope, trips: int, places: set[int], total: Tally, at: Place
    ) -> bool:
        """Count each step separately; return True if `places` are known in all steps."""
        self.stepping += 1
        done = 0
        for values in itertools.islice(steps(loop, scope, places), trips):
            if self.left <= 0 or all(values[i] is None for i in places):
                break
            one = Tally()
            self.block(loop.body, step_scope(loop, scope, values), one, at)
            total.add(one)
            done += 1
        self.stepping -= 1
        return done == trips


def _sizes(mesh: str) -> dict[str, int]:
    """Return the sizes of the axes in the text of a mesh."""
    return {name: int(size) for name, size in _AXIS.findall(mesh)}


def _unknown() -> BlockArguments:
    return BlockArguments(lambda number: None)


_CONTROL: Mapping[str, Any] = {
    "func.call": _Walker.call,
    "stablehlo.composite": _Walker.call,
    "func.return": _Walker.nothing,
    "stablehlo.return": _Walker.nothing,
    "stablehlo.while": _Walker.loop,
    "stablehlo.case": _Walker.branches,
    "stablehlo.if": _Walker.branches,
    "sdy.manual_computation": _Walker.manual,
    "sdy.named_computation": _Walker.region,
    "sdy.return": _Walker.nothing,
}


def _index(op: Any, chosen: Value, branches: int) -> int:
    """Return the branch of an index, the last one if out of range; of `if` the first is true."""
    if op.name == "stablehlo.if":
        return 0 if chosen else 1
    index = int(chosen)
    return index if 0 <= index < branches else branches - 1


def _dearness(tally: Tally) -> tuple[int, int]:
    totals = tally.totals()
    return totals[0], totals[2]


def _gap(costed: Costed, place: Place) -> Gap:
    """Return the gap of an operation; without a rule, but with shapes, the bytes are known."""
    hidden = _OPERATION if costed.counts.bytes else FIGURES[:-1]
    return Gap(costed.name, place, costed.unknown, frozenset(hidden))
