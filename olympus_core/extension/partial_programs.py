"""Programs of functions, and programs without what is not used, under JAX's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.extension.linear_util import results_of
from olympus_core.ir.dce_cse import live
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.trace import current_trace, using_trace
from olympus_core.transforms.linearize import LinearTrace
from olympus_core.transforms.staging import StagedTracer, hoist_consts, stage


class PartialVal(tuple[Any, Any]):
    """A value that is known, (None, value), or of which only the type is, (type, None)."""

    __slots__ = ()

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """Return a known value."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        """Return a value of which only the type is known."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Return True if the value is known."""
        return self[0] is None

    def get_known(self) -> Any:
        """Return the value if it is known, or None."""
        return self[1] if self[0] is None else None

    def get_aval(self) -> ShapedArray:
        """Return the type."""
        aval: ShapedArray = get_aval(self[1]) if self[0] is None else self[0]
        return aval


def dce_jaxpr(
    jaxpr: Olympuspr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Olympuspr, list[bool]]:
    """Return the program of the used results without dead equations, and which inputs it has.

    Inputs that `instantiate` marks remain though they are not used.

    >>> program = make_jaxpr(lambda x, y: (x + 1, y))(1.0, 2.0).jaxpr
    >>> dce_jaxpr(program, [False, True])[1]
    [False, True]
    """
    outputs = (
        [used_outputs] * len(jaxpr.outvars) if isinstance(used_outputs, bool) else used_outputs
    )
    needed = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else instantiate
    outvars = tuple(x for x, u in zip(jaxpr.outvars, outputs, strict=True) if u)
    eqns = live(jaxpr.replace(outvars=outvars))
    read = {x for eqn in eqns for x in eqn.inputs} | set(outvars)
    used = [bool(k) or v in read for v, k in zip(jaxpr.invars, needed, strict=True)]
    invars = tuple(v for v, u in zip(jaxpr.invars, used, strict=True) if u)
    return jaxpr.replace(invars=invars, eqns=eqns, outvars=outvars), used


def _flags(value: bool | Sequence[bool], count: int) -> Sequence[bool]:
    return [value] * count if isinstance(value, bool) else value


def trace_to_jaxpr_dynamic(
    fun: Any, in_avals: Sequence[ShapedArray], **_: Any
) -> tuple[Olympuspr, list[ShapedArray], list[Any]]:
    """Return the program of a flat function, the types of its results, and its constants.

    The function is a WrappedFun, or a function of arrays that returns a list.

    >>> jaxpr, out_avals, consts = trace_to_jaxpr_dynamic(wrap_init(lambda x: [2 * x]), [aval])
    """
    run = results_of(fun)
    program = stage(lambda *xs: list(run(*xs)), list(in_avals), what=f"'{fun}'")
    return program, list(program.out_avals), list(program.consts)


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Olympuspr, list[PartialVal], list[Any]]:
    """Return the program of the unknown values, the results as partial values, and its constants.

    Results that depend on known values only are known, and no results of the program, unless
    `instantiate` marks them. The inputs of the program are its constants and the unknown values.

    >>> jaxpr, values, consts = trace_to_jaxpr_nounits(fun, [PartialVal.known(1.0)])
    """
    staging = LinearTrace(current_trace(), f"'{fun}'")
    inputs = [x.get_known() if x.is_known() else staging.new_input(x.get_aval()) for x in pvals]
    with using_trace(staging):
        outs = list(results_of(fun)(*inputs))
    flags = _flags(instantiate, len(outs))
    inner = [bool(f) or _is_of(staging, x) for x, f in zip(outs, flags, strict=True)]
    program = staging.program([x for x, i in zip(outs, inner, strict=True) if i])
    staging.alive = False
    avals = iter(program.out_avals)
    partial = [
        PartialVal.unknown(next(avals)) if i else PartialVal.known(x)
        for x, i in zip(outs, inner, strict=True)
    ]
    closed, consts = hoist_consts(program)
    return closed, partial, list(consts)


def _is_of(staging: LinearTrace, x: Any) -> bool:
    return x.__class__ is StagedTracer and x.owner is staging


def close_jaxpr(jaxpr: Olympuspr) -> Olympuspr:
    """Return a program without constants as a closed one, which is the program.

    Raises ArgumentError for a program with constants.

    >>> close_jaxpr(make_jaxpr(lambda x: x)(1.0).jaxpr).consts
    ()
    """
    if jaxpr.constvars:
        raise ArgumentError(f"close_jaxpr: the program has {len(jaxpr.constvars)} constants")
    return jaxpr


def convert_constvars_jaxpr(jaxpr: Olympuspr) -> Olympuspr:
    """Return a program whose first inputs are its constants.

    >>> convert_constvars_jaxpr(make_jaxpr(lambda x: x)(1.0).jaxpr).constvars
    ()
    """
    return Olympuspr((*jaxpr.constvars, *jaxpr.invars), jaxpr.eqns, jaxpr.outvars)
