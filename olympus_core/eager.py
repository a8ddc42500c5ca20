"""Eager execution: the base trace, which compiles an operation when first seen and runs it.

Arrays and scalars enter; device arrays leave.  An operation on operands of known avals is
compiled once a process, as a program of one equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core import lowering, xla
from olympus_core.array import DeviceArray, put
from olympus_core.avals import ShapedArray, get_aval
from olympus_core.errors import LeakedTracerError
from olympus_core.olympuspr import Eqn, Olympuspr, Var
from olympus_core.primitive import Primitive
from olympus_core.control.call import jit_p
from olympus_core.source import Source
from olympus_core.trace import install_base
from olympus_core.tracer import Tracer

__all__ = ["EagerTrace", "clear_cache", "compile_program"]

_CPU = xla.Target("cpu")
_cache: dict[Any, tuple[xla.Executable, tuple[ShapedArray, ...]]] = {}


def compile_program(program: Olympuspr, name: str) -> xla.Executable:
    """Compile a program for this process's CPU."""
    module = lowering.lower_module(program, lowering.Signature(name))
    made = xla.compile(module, _CPU)
    assert isinstance(made, xla.Executable)
    return made


def clear_cache() -> None:
    """Forget every operation compiled so far."""
    _cache.clear()


class EagerTrace:
    """Executes what is bound."""

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run the operation, compiled if it is new, and give device arrays."""
        avals = tuple([x.aval if x.__class__ is DeviceArray else get_aval(x) for x in args])
        key = (primitive, avals, tuple(params.items()))
        found = _cache.get(key)
        if found is None:
            self._check(primitive, args)
            found = _cache[key] = _compile(primitive, avals, params)
        executable, out_avals = found
        buffers = [
            x.buffer if x.__class__ is DeviceArray else _buffer(primitive, x, a)
            for x, a in zip(args, avals, strict=True)
        ]
        outs = executable.execute(buffers)
        if primitive.multiple_results:
            return [DeviceArray(a, b) for a, b in zip(out_avals, outs, strict=True)]
        return DeviceArray(out_avals[0], outs[0])

    def _check(self, primitive: Primitive, args: Sequence[Any]) -> None:
        for x in args:
            if isinstance(x, Tracer):
                raise LeakedTracerError(
                    f"'{primitive}' got a traced array {x.aval.long_name()} outside of the "
                    f"function it belongs to: it is {x.origin()}",
                    hint="return values from the function instead of storing them",
                )


def _buffer(primitive: Primitive, x: Any, aval: ShapedArray) -> xla.Buffer:
    if isinstance(x, Tracer):
        _base._check(primitive, [x])
    return put(x, aval).buffer


def _compile(
    primitive: Primitive, avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> tuple[xla.Executable, tuple[ShapedArray, ...]]:
    out_avals = primitive.out_avals(avals, params)
    if primitive is jit_p:
        return compile_program(params["olympuspr"], f"jit_{params['name']}"), out_avals
    invars, outvars = tuple(map(Var, avals)), tuple(map(Var, out_avals))
    eqn = Eqn(primitive, invars, outvars, params, Source(None, 0, ""))
    return compile_program(Olympuspr(invars, (eqn,), outvars), primitive.name), out_avals


_base = EagerTrace()
install_base(_base)
