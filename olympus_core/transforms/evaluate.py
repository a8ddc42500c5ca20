"""Evaluation: a program applied to values.

Each equation is bound under the current trace, with its own source line and name scope.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from olympus_core.arrays.mesh_context import concrete_like, using_mesh
from olympus_core.base import source
from olympus_core.base.context import state
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr
from olympus_core.placement.mesh import AxisType


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

    is_typed = has_explicit_context()
    for eqn in program.eqns:
        with source.using_location(eqn.source if call is None else eqn.source.inside(call)):
            if is_typed:
                with using_mesh_of(eqn):
                    out = eqn.primitive.bind(*map(read, eqn.inputs), **eqn.params)
            else:
                out = eqn.primitive.bind(*map(read, eqn.inputs), **eqn.params)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outputs, out, strict=True))
        else:
            env[eqn.outputs[0]] = out
    return [read(atom) for atom in program.outvars]


def has_explicit_context() -> bool:
    """Return True if operations run one by one, on a mesh with explicit axes."""
    return state.mesh is not None and trace.is_eager() and bool(state.mesh.has_explicit_axes)


def using_mesh_of(eqn: Eqn) -> contextlib.AbstractContextManager[None]:
    """Return a context with the types of axes that the mesh had where the equation was traced.

    In the function of `auto_axes` some are `Auto`; the derivatives of its operations run after it.
    """
    if eqn.primitive.has_programs or eqn.primitive.changes_mesh:
        return contextlib.nullcontext()
    shardings = [x.aval.explicit for x in (*eqn.inputs, *eqn.outputs)]
    own = next((s.mesh for s in shardings if s is not None), None)
    if own is None:
        mesh = state.mesh.abstract_mesh
        own = mesh.update(axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    return using_mesh(concrete_like(own))
