"""The pass that evaluates operations on large constants when a program is lowered.

XLA does it for constants that are in a program. For constants that are arguments of the executable,
such as the transposed weights of `x @ w.T`, this pass does it.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base import dtypes
from olympus_core.base.context import Context, switched
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Atom, Eqn, Literal, Olympuspr, Var
from olympus_core.ir.trace import using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.primitives.constant import constant_p

#: The switches that check calls of the user, with the values for an evaluation without checks.
_CHECKS: dict[str, Any] = {
    "debug_nans": False,
    "debug_infs": False,
    "no_execution": False,
    "no_tracing": False,
    "transfer_guard_host_to_device": "allow",
    "transfer_guard_device_to_host": "allow",
}


def folded(program: Olympuspr, min_bytes: int, *, evaluates: bool = True) -> Olympuspr:
    """Return the simplified program without operations on constants of at least `min_bytes` bytes.

    An operation is evaluated if it is done element by element or moves elements, all its operands
    are constants, and its result is not larger than these. Unused constants are removed, and large
    ones that are equations become constants of the program. Without `evaluates`, no operation is
    evaluated.

    >>> len(folded(jit(lambda x: x @ w.T).trace(x).olympuspr, 0).eqns)
    1
    """
    program = simplify(program)
    values: dict[Atom, Any] = dict(zip(program.constvars, program.consts, strict=True))
    raised = [eqn for eqn in program.eqns if _is_large(eqn, min_bytes)]
    values |= {eqn.outputs[0]: eqn.params["value"].value for eqn in raised}
    large = {v for v, x in values.items() if not isinstance(x, Tracer) and _bytes(v) >= min_bytes}
    eqns: list[Eqn] = []
    may_fold = evaluates and bool(large)
    for eqn in program.eqns:
        if eqn.outputs and eqn.outputs[0] in values:  # a constant of a program that was raised
            continue
        if may_fold and not large.isdisjoint(eqn.inputs) and _is_foldable(eqn, values):
            (result,) = eqn.outputs
            values[result] = _evaluated(eqn, values)
            large.add(result)
        else:
            eqns.append(eqn)
    used = {x for eqn in eqns for x in eqn.inputs}.union(program.outvars)
    rest = {v: x for v, x in values.items() if v in used}
    return program.replace(eqns=eqns, constvars=rest, consts=rest.values())


def _is_large(eqn: Eqn, min_bytes: int) -> bool:
    """Return True if an equation is a constant of at least `min_bytes` bytes."""
    return eqn.primitive is constant_p and _bytes(eqn.outputs[0]) >= min_bytes


def has_large(program: Olympuspr, min_bytes: int) -> bool:
    """Return True if a program has a constant of at least `min_bytes` bytes.

    >>> has_large(jit(lambda x: x @ w).trace(x).olympuspr, 4)
    True
    """
    return any(_bytes(v) >= min_bytes for v in program.constvars) or any(
        _is_large(eqn, min_bytes) for eqn in program.eqns
    )


def _bytes(x: Any) -> int:
    aval = x.aval
    return int(aval.size * aval.dtype.itemsize)


def _is_foldable(eqn: Eqn, values: dict[Atom, Any]) -> bool:
    primitive, arrays = eqn.primitive, [*eqn.inputs, *eqn.outputs]
    if not (primitive.is_elementwise or primitive.is_cheap or primitive.is_transpose):
        return False
    if primitive.has_programs or eqn.effects or len(eqn.outputs) != 1:
        return False
    for x in arrays:
        aval = x.aval
        if aval.is_symbolic or aval.explicit is not None or aval.vma:
            return False
        if dtypes.canonicalize(aval.dtype) != aval.dtype:
            return False
    operands = dict.fromkeys(x for x in eqn.inputs if isinstance(x, Var))
    known = all(x in values and not isinstance(values[x], Tracer) for x in operands)
    return known and _bytes(eqn.outputs[0]) <= sum(map(_bytes, operands))


def _evaluated(eqn: Eqn, values: dict[Atom, Any]) -> np.ndarray[Any, Any]:
    operands = [x.value if isinstance(x, Literal) else values[x] for x in eqn.inputs]
    with ExitStack() as stack:
        for name, value in _CHECKS.items():
            stack.enter_context(switched(name, value))
        stack.enter_context(using_trace(Context.trace))
        return array_to_numpy(eqn.primitive.bind(*operands, **eqn.params))
