"""Evaluation: a program applied to values.

Each equation is bound under the current trace, with its own source line and name scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base import source
from olympus_core.ir.olympuspr import Literal, Olympuspr


def evaluate(
    program: Olympuspr, args: Sequence[Any], call: source.Source | None = None
) -> list[Any]:
    """Apply a program to values, equation by equation, under the current trace.

    `call` is the line that calls a nested program; its scope and callers are around the lines.
    """
    env: dict[Any, Any] = dict(zip(program.invars, args, strict=True))
    env.update(zip(program.constvars, program.consts, strict=True))

    def read(atom: Any) -> Any:
        return atom.value if atom.__class__ is Literal else env[atom]

    for eqn in program.eqns:
        with source.using_location(eqn.source if call is None else eqn.source.inside(call)):
            out = eqn.primitive.bind(*map(read, eqn.inputs), **eqn.params)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outputs, out, strict=True))
        else:
            env[eqn.outputs[0]] = out
    return [read(atom) for atom in program.outvars]
