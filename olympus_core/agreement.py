"""Which values of the body of a `shard_map` may differ from device to device, and what hangs there.

A collective waits for all devices along its axes.  In a branch of `cond`, or in a `while_loop`,
it waits for ever if the devices do not take the same branch or do not loop as often.  The types
cannot tell: they have no axes where a `shard_map` is not checked, and an axis too many after
`pcast`.  So the program is followed from the parts that its operands are cut in: a method of each
primitive, `differing`, tells of its results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from olympus_core.errors import ShardingError
from olympus_core.olympuspr import Eqn, Literal, Olympuspr, sub_programs
from olympus_core.simplify import simplify

__all__ = ["Agreement", "Differing"]

#: the axes of a mesh along which a value may differ
Differing = frozenset[Any]
_NOWHERE: Differing = frozenset()


class Agreement:
    """What the devices of a mesh agree on in one program that they run.

    `several` are the axes of the mesh with several devices: along another nothing can differ.
    `platform` is what the program is lowered for.
    """

    def __init__(self, several: Differing, platform: str) -> None:
        self.several = several
        self.platform = platform
        self._known: dict[tuple[Olympuspr, tuple[Differing, ...]], tuple[Differing, ...]] = {}

    def follow(self, program: Olympuspr, operands: Sequence[Differing]) -> tuple[Differing, ...]:
        """The axes along which each result of a program may differ, of those of its operands.

        Raises ShardingError for a collective in it that some devices may not take part in.
        """
        key = program, tuple(operands)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._followed(simplify(program), operands)
        return found

    def _followed(self, program: Olympuspr, operands: Sequence[Differing]) -> tuple[Differing, ...]:
        env: dict[Any, Differing] = dict(zip(program.invars, operands, strict=True))
        env.update(dict.fromkeys(program.constvars, _NOWHERE))
        for eqn in program.eqns:
            ins = [_NOWHERE if isinstance(x, Literal) else env[x] for x in eqn.inputs]
            env.update(zip(eqn.outputs, eqn.primitive.differing(self, eqn, ins), strict=True))
        return tuple([_NOWHERE if isinstance(x, Literal) else env[x] for x in program.outvars])

    def need(self, eqn: Eqn, decided: str, at: Differing, programs: Sequence[Olympuspr]) -> None:
        """Raise ShardingError where `programs` have a collective along an axis of `at`.

        `eqn` runs them or does not, as `decided` says, which may differ along the axes `at`.
        """
        for message in _messages(programs) if at else ():
            if apart := at & message.primitive.waits_along(self, message.params):
                raise _never_met(eqn, decided, message, sorted(map(str, apart))[0])


def _messages(programs: Sequence[Olympuspr]) -> Iterator[Eqn]:
    """The equations of programs that wait for other devices, also of programs inside."""
    for program in programs:
        for eqn in simplify(program).eqns:
            if eqn.primitive.axis_param is not None:
                yield eqn
            yield from _messages([*sub_programs(eqn)])


def _never_met(eqn: Eqn, decided: str, message: Eqn, axis: str) -> ShardingError:
    name = message.primitive.name
    why = (
        f"the derivative by a value that all devices along {axis!r} have is a {name}: make it one "
        f"that may differ before the {eqn.primitive.name}, by lax.pcast(x, {axis!r}, to='varying')"
        if message.source.backward
        else f"make it the same on all devices along {axis!r}, as by lax.pmax or lax.psum, or "
        f"call {name} outside"
    )
    return ShardingError(
        f"{decided} may differ along the axis {axis!r}{eqn.source.place()}\n"
        f"  so some devices along it may not come to {name}{message.source.place()}, and the "
        "others would wait for them for ever",
        hint=why,
        location=str(eqn.source.position() or "") or None,
    )
