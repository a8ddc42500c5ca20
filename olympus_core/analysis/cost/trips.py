"""The iteration counts of loops that can be proved from the module.

There are two proofs. A counter with constant start and step has a count in closed form. For any
other loop whose condition depends only on constants, the part that the condition needs is run step
by step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.analysis.cost.constants import BlockArguments, Scope, Value, reduction
from olympus_core.analysis.cost.stablehlo import tensor_of
from olympus_core.mlir import bindings as mlir

_LONGEST = 2_000  # values that are computed to see a loop end
_DATA = "how often it runs depends on data"
_STEPS = "how often it runs changes with the steps of a loop around it"
_FLIPPED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE", "EQ": "EQ"}


class Loop(NamedTuple):
    """A `stablehlo.while`: the blocks of its condition and its body, and where its carry starts."""

    condition: Any
    body: Any
    starts: Sequence[Any]

    @classmethod
    def of(cls, op: Any) -> Loop:
        """Return the parts of an operation."""
        condition, body = [region.blocks[0] for region in op.regions]
        return cls(condition, body, list(op.operands))

    @property
    def predicate(self) -> Any:
        """The value that is True if the body runs again."""
        return _last(self.condition).operands[0]

    @property
    def next(self) -> list[Any]:
        """The values of the carry after a step."""
        return list(_last(self.body).operands)

    def invariant(self) -> list[int]:
        """Return the positions of the carry that the body returns unchanged."""
        return [i for i, x in enumerate(self.next) if _place(x, self.body) == i]


def trip_count(loop: Loop, scope: Scope) -> int | str:
    """Return the iteration count of the body, or the reason why it is not known.

    `scope` has the known values around the loop.
    """
    count: int | str | None = _counted(loop, scope)
    if count is None:
        count = _run(loop, scope)
    if count != _DATA:
        return count
    if scope.knowledge.is_spent:
        return "how often it runs depends on data, or takes too long to count"
    return _STEPS if _follows_steps(loop) else count


def body_scope(loop: Loop, scope: Scope) -> Scope:
    """Return the scope inside the body: the known values of the carry that no step changes."""
    return _fixed(loop, loop.body, scope)


def _last(block: Any) -> Any:
    return block.operations[len(block.operations) - 1].operation


def _place(value: Any, block: Any) -> int | None:
    """Return the number of the block's argument that a value is, or None."""
    if isinstance(value, mlir.ir.BlockArgument) and value.owner == block:
        return int(value.arg_number)
    return None


def _fixed(loop: Loop, block: Any, scope: Scope) -> Scope:
    same = frozenset(loop.invariant())
    arguments = BlockArguments(
        lambda place: scope.of(loop.starts[place]) if place in same else None
    )
    return scope.inner(block, arguments)


# A counter


class _Test(NamedTuple):
    """A comparison of a carried counter with a bound that no step changes."""

    place: int
    direction: str
    bound: Value

    def same(self, other: _Test | None) -> bool:
        return (
            other is not None
            and (self.place, self.direction) == (other.place, other.direction)
            and bool(np.all(self.bound == other.bound))
        )


def _test(value: Any, block: Any, inside: Scope, *, whole: bool) -> _Test | None:
    """Return the comparison behind a boolean; with `whole` it is a scalar, or an "or" over many."""
    value = _through(value, any_form=whole)
    op = _maker(value)
    if op is not None and whole and op.name == "stablehlo.reduce" and _is_or(op, inside):
        op = _maker(_through(op.operands[0], any_form=True))
    if op is None or op.name != "stablehlo.compare":
        return None
    direction = mlir.hlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
    left, right = op.operands
    for counter, bound, way in ((left, right, direction), (right, left, _FLIPPED[direction])):
        place, limit = _place(_through(counter), block), inside.of(bound)
        if place is not None and limit is not None and limit.dtype.kind in "iu":
            return _Test(place, way, limit)
    return None


def _maker(value: Any) -> Any | None:
    return None if isinstance(value, mlir.ir.BlockArgument) else value.owner


def _through(value: Any, *, any_form: bool = False) -> Any:
    """Return the origin of a value's elements, in place; with `any_form` also after a reshape."""
    while (op := _maker(value)) is not None:
        if op.name == "stablehlo.optimization_barrier":
            value = op.operands[value.result_number]
        elif op.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim") and (
            any_form or tensor_of(op.operands[0].type).elements == 1
        ):
            value = op.operands[0]
        else:
            break
    return value


def _is_or(op: Any, inside: Scope) -> bool:
    start = inside.of(op.operands[1])
    return reduction(op) == "stablehlo.or" and start is not None and not start.any()


class _Step(NamedTuple):
    """The counter's increment in each step; a guarded counter stops when the test fails."""

    by: Value
    is_guarded: bool


def _step(loop: Loop, test: _Test, inside: Scope) -> _Step | None:
    value = loop.next[test.place]
    op = _maker(value)
    is_guarded = op is not None and op.name == "stablehlo.select"
    if op is not None and is_guarded:
        chosen, if_true, if_false = op.operands
        guard = _test(chosen, loop.body, inside, whole=False)
        if not test.same(guard) or _place(if_false, loop.body) != test.place:
            return None
        op = _maker(if_true)
    if op is None or op.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    left, right = op.operands
    if op.name == "stablehlo.add" and _place(right, loop.body) == test.place:
        left, right = right, left
    if _place(left, loop.body) != test.place or (added := inside.of(right)) is None:
        return None
    by = added if op.name == "stablehlo.add" else -added.astype(object)
    return _Step(by, is_guarded)


def _counted(loop: Loop, scope: Scope) -> int | None:
    test = _test(loop.predicate, loop.condition, _fixed(loop, loop.condition, scope), whole=True)
    if test is None:
        return None
    start = scope.of(loop.starts[test.place])
    step = _step(loop, test, body_scope(loop, scope))
    if start is None or step is None:
        return None
    lanes = [tuple(map(int, lane)) for lane in np.broadcast(start, test.bound, step.by)]
    counts = [_trips(first, to, by, test.direction) for first, to, by in lanes]
    known = [n for n in counts if n is not None]
    if len(known) < len(lanes):
        return None  # it would run for ever, or until the counter wraps
    trips = max(known)
    if not step.is_guarded and test.direction in ("NE", "EQ") and min(known) < trips:
        return None  # all must fail in the same step, and one of them may still hold
    least, greatest = _extent(tensor_of(loop.starts[test.place].type).dtype)
    for (first, _, by), count in zip(lanes, known, strict=True):
        if not least <= first + (count if step.is_guarded else trips) * by <= greatest:
            return None
    return trips


def _extent(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest integer of a dtype."""
    bits = int(dtype.lstrip("uint"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _trips(start: int, bound: int, step: int, direction: str) -> int | None:
    """Return the number of k = 0, 1, ... before `start + k * step` fails the test."""
    if direction in ("GT", "GE"):
        start, bound, step, direction = -start, -bound, -step, _FLIPPED[direction]
    if direction == "LE":
        bound += 1
    if direction == "NE":
        whole, rest = divmod(bound - start, step) if step else (0, bound - start)
        return whole if rest == 0 and whole >= 0 else None
    if direction == "EQ":
        return 0 if start != bound else 1 if step else None
    if start >= bound:
        return 0
    return -(-(bound - start) // step) if step > 0 else None


# A run


def _run(loop: Loop, scope: Scope) -> int | str:
    """Count a loop whose condition depends only on constants, by running that part."""
    needed = _needed(loop.predicate, loop.condition)
    trips = 0
    for values in steps(loop, scope, needed):
        if any(v is None for v in values.values()):
            return _DATA
        more = _at(loop.condition, values, scope).of(loop.predicate)
        if more is None:
            return _DATA
        if not more:
            return trips
        if (trips + 2) * (len(values) + 1) > _LONGEST:
            break
        trips += 1
    return f"it has no end that can be proved, and none in {trips} steps"


def steps(
    loop: Loop, scope: Scope, places: Collection[int]
) -> Iterator[Mapping[int, Value | None]]:
    """Yield the carry of each step, without end: these positions and their dependencies."""
    following = loop.next
    needed = set(places)
    pending = list(places)
    while pending:
        for i in _needed(following[pending.pop()], loop.body) - needed:
            needed.add(i)
            pending.append(i)
    values = {i: scope.of(loop.starts[i]) for i in needed}
    while True:
        yield values
        inside = _at(loop.body, values, scope)
        values = {i: inside.of(following[i]) for i in needed}


def step_scope(loop: Loop, scope: Scope, values: Mapping[int, Value | None]) -> Scope:
    """Return the scope inside the body in one step, for a partly known carry."""
    always = _fixed(loop, loop.body, scope).given
    return scope.inner(
        loop.body,
        BlockArguments(lambda place: values[place] if place in values else always.of(place)),
    )


def _at(block: Any, values: Mapping[int, Value | None], scope: Scope) -> Scope:
    return scope.inner(block, BlockArguments(values.get), scope.knowledge.steps)


def _follows_steps(loop: Loop) -> bool:
    """Return True if the count needs an integer that an enclosing loop's steps change."""
    needed = _needed(loop.predicate, loop.condition)
    roots = _roots([loop.predicate, *[loop.starts[i] for i in needed]])
    for x in roots:
        around = x.owner.owner
        if x.owner == loop.condition or around.name != "stablehlo.while":
            continue
        outer = Loop.of(around)
        tensor = tensor_of(x.type)
        is_counter = "int" in tensor.dtype and tensor.elements == 1
        if is_counter and x.arg_number not in outer.invariant():
            return True
    return False


def _needed(value: Any, block: Any) -> set[int]:
    """Return the arguments of a block that a value depends on."""
    return {x.arg_number for x in _roots([value]) if x.owner == block}


def _roots(values: Sequence[Any]) -> set[Any]:
    """Return the arguments of any blocks that values depend on."""
    seen: set[Any] = set()
    arguments: set[Any] = set()
    pending = list(values)
    while pending:
        x = pending.pop()
        if x in seen:
            continue
        seen.add(x)
        if isinstance(x, mlir.ir.BlockArgument):
            arguments.add(x)
        else:
            pending += list(x.owner.operands)
    return arguments
