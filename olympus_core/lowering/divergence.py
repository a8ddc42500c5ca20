"""Dataflow analysis of values that may differ between devices, and of their consequences.

A collective waits for all devices along its axes. In a branch of `cond`, or in a `while_loop`, it
waits forever if the devices take different branches or iterate a different number of times. The
types are not sufficient: they have no axes if a `shard_map` is not checked, and too many after
`pcast`. So the whole program is analyzed, and each `shard_map` in it from the parts of its
operands. A method of each primitive, `differing`, returns the axes of its results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from olympus_core.base.errors import ShardingError
from olympus_core.base.source import Source
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr, Var, sub_programs
from olympus_core.placement.mesh import AnyMesh
from olympus_core.xla.hlo.reached_collectives import Spread

#: the axes of a mesh along which a value may differ; outside of every `shard_map`, of `Unequal`
Differing = frozenset[Any]
_NOWHERE: Differing = frozenset()


class Unequal(NamedTuple):
    """An axis along which a result differs that its spec does not name, and the `shard_map`."""

    axis: Any
    source: Source

    def __str__(self) -> str:
        return f"{self.axis}{self.source.place()}"


class Parts(frozenset[Any]):
    """The type of a `shard_map` result outside the map, before any operation uses it.

    In addition to the axes of a `Differing`, it has the axes `own`: if it is `cut` in the same way
    again, its parts differ only along these. `cut` has the mesh, the spec and the shape of the
    whole.
    """

    own: Differing
    cut: Any

    def __new__(cls, differing: Differing, own: Differing, cut: Any) -> Self:
        parts = super().__new__(cls, differing)
        parts.own, parts.cut = own, cut
        return parts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parts):
            return False
        mine, others = ((frozenset(x), x.own, x.cut) for x in (self, other))
        return mine == others

    def __hash__(self) -> int:
        return hash((frozenset(self), self.own, self.cut))


class Agreement:
    """The values that are equal on all devices in one program, lowered for `platform`.

    In the body of a `shard_map` over `mesh`, `several` are the axes with several devices: along any
    other axis nothing can differ. Outside of all maps the mesh is None. There a value differs only
    if it depends on a result whose spec states that the devices' values are equal, although they
    differ. `unequal` is such a result among the operands of the body.

    With `refuses`, a collective that some devices may not reach is an error.

    `undecided` has the branches and loops whose predicate may differ, each by its first result: the
    axes along which it differs, and the layout of the program's `devices` along them.
    """

    def __init__(
        self,
        platform: str,
        devices: int,
        mesh: AnyMesh | None = None,
        unequal: Unequal | None = None,
        *,
        refuses: bool = True,
    ) -> None:
        self.platform = platform
        self.devices = devices
        self.mesh = mesh
        self.sizes: dict[Any, int] = {} if mesh is None else mesh.shape
        self.several: Differing = frozenset([n for n, size in self.sizes.items() if size > 1])
        self.unequal = unequal
        self.refuses = refuses
        self._known: dict[tuple[Olympuspr, tuple[Differing, ...]], tuple[Differing, ...]] = {}
        self.undecided: dict[Var, dict[str, Spread]] = {}
        self._inside: dict[tuple[AnyMesh, Unequal | None], Agreement] = {}

    def inside(self, mesh: AnyMesh, operands: Sequence[Differing]) -> Agreement:
        """Return the agreement in a `shard_map` of operands from outside of all maps."""
        unequal = min(_NOWHERE.union(*operands), key=str, default=None)
        agreement = self._inside.get((mesh, unequal))
        if agreement is None:
            agreement = self._inside[mesh, unequal] = Agreement(
                self.platform, self.devices, mesh, unequal, refuses=self.refuses
            )
            agreement.undecided = self.undecided
        return agreement

    def follow(self, program: Olympuspr, operands: Sequence[Differing]) -> tuple[Differing, ...]:
        """Return the axes along which each result may differ, from those of the operands.

        Raises ShardingError for a collective in it that some devices may not reach.
        """
        key = program, tuple(operands)
        results = self._known.get(key)
        if results is None:
            results = self._known[key] = self._followed(simplify(program), operands)
        return results

    def _followed(self, program: Olympuspr, operands: Sequence[Differing]) -> tuple[Differing, ...]:
        env: dict[Any, Differing] = dict(zip(program.invars, operands, strict=True))
        env.update(dict.fromkeys(program.constvars, _NOWHERE))
        for eqn in program.eqns:
            ins = [_NOWHERE if isinstance(x, Literal) else env[x] for x in eqn.inputs]
            env.update(zip(eqn.outputs, eqn.primitive.differing(self, eqn, ins), strict=True))
        return tuple([_NOWHERE if isinstance(x, Literal) else env[x] for x in program.outvars])

    def need(self, eqn: Eqn, decided: str, at: Differing, programs: Sequence[Olympuspr]) -> None:
        """Raise ShardingError if `programs` have a collective along an axis of `at`.

        `eqn` runs them conditionally, as `decided` describes, and the condition may differ along
        the axes `at`. The collectives that the compiler inserts in them are not known yet: see
        `undecided`.
        """
        for message in _messages(programs) if at and self.refuses else ():
            waits = message.primitive.waits_along(self, message.params)
            if self.mesh is None and waits:
                unequal = min(at, key=str)
                raise _deadlock_error(eqn, decided, message, unequal.axis, unequal)
            if apart := at & waits:
                axis = min(apart, key=str)
                raise _deadlock_error(eqn, decided, message, axis, self.unequal)
        if at and eqn.outputs:  # without results, there is nothing that the compiler could move
            self.undecided.setdefault(eqn.outputs[0], {}).update(map(self._spread, at))

    def _spread(self, axis: Any) -> tuple[str, Spread]:
        """Return the name of an axis of a difference, and the layout of devices along it."""
        if isinstance(axis, Unequal):  # the compiler may have moved it to any of them
            return str(axis.axis), Spread(1, self.devices)
        sizes = [*self.sizes]
        inner = [self.sizes[name] for name in sizes[sizes.index(axis) + 1 :]]
        return str(axis), Spread(math.prod(inner), self.sizes[axis])


def _deadlock_error(
    eqn: Eqn, decided: str, message: Eqn, axis: Any, unequal: Unequal | None
) -> ShardingError:
    """Return the error for a collective `message` that only some devices would execute.

    The devices along `axis` may decide differently, as `decided` describes. `unequal` is the result
    of a `shard_map` that is the origin of the difference; None if it is known by other means.
    """
    name, since = message.primitive.name, ""
    if unequal is not None:
        since = (
            f"\n  since a result of shard_map differs along {unequal.axis!r}, which its spec does "
            f"not name{unequal.source.place()}"
        )
        why = f"name {unequal.axis!r} in that spec, or make the result the same, as by lax.pmax"
    else:
        why = (
            f"make it the same on all devices along {axis!r}, as by lax.pmax or lax.psum, or "
            f"call {name} outside"
        )
    return ShardingError(
        f"{decided} may differ along the axis {axis!r}{eqn.source.place()}\n"
        f"  so some devices along it may not come to {name}{message.source.place()}, and the "
        f"others would wait for them for ever{since}",
        hint=why,
        location=str(eqn.source.position() or "") or None,
    )


def _messages(programs: Sequence[Olympuspr]) -> Iterator[Eqn]:
    """Yield the equations of programs that wait for other devices, also of nested programs."""
    for program in programs:
        for eqn in simplify(program).eqns:
            if eqn.primitive.axis_param is not None:
                yield eqn
            yield from _messages([*sub_programs(eqn)])
