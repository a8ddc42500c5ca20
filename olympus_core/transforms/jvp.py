"""Forward mode: a function and its point and direction enter, value and derivative leave.

A tangent that is zero is `None` throughout, so that no zeros are made or computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core import trace
from olympus_core.avals import get_aval
from olympus_core.primitive import Primitive
from olympus_core.trace import Trace, using
from olympus_core.tracer import Tracer

__all__ = ["JVPTrace", "JVPTracer", "jvp_flat"]


class JVPTracer(Tracer):
    """A value with a tangent."""

    __slots__ = ("primal", "tangent")
    trace: JVPTrace

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any) -> None:
        self.trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = get_aval(primal)

    def origin(self) -> str:
        """That a derivative is taken with respect to it; and where its value comes from."""
        inner = f", {self.primal.origin()}" if isinstance(self.primal, Tracer) else ""
        return f"a value that is being differentiated{inner}"


class JVPTrace:
    """Carries a tangent along with each value."""

    __slots__ = ("parent",)

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's `jvp` in the parent trace."""
        primals, tangents, active = [], [], False
        for x in args:
            if x.__class__ is JVPTracer and x.trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = True
            else:
                primals.append(x)
                tangents.append(None)
        with using(self.parent):
            if not active:
                return self.parent.process(primitive, args, params)
            out, tangent = primitive.jvp(primals, tangents, **params)
        if primitive.multiple_results:
            return [self.wrap(o, t) for o, t in zip(out, tangent, strict=True)]
        return self.wrap(out, tangent)

    def wrap(self, primal: Any, tangent: Any) -> Any:
        """A tracer; or the value itself where the tangent is zero."""
        return primal if tangent is None else JVPTracer(self, primal, tangent)

    def unwrap(self, x: Any) -> tuple[Any, Any]:
        """A value and its tangent."""
        if x.__class__ is JVPTracer and x.trace is self:
            return x.primal, x.tangent
        return x, None


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The flat results of a flat function at `primals`, and their tangents (None for zero)."""
    jvp = JVPTrace(trace.current())
    inputs = [jvp.wrap(x, t) for x, t in zip(primals, tangents, strict=True)]
    with using(jvp):
        outs = fun(*inputs)
    pairs = [jvp.unwrap(x) for x in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]
