"""Forward mode: the value of a function, and its derivative in a direction.

A zero tangent is `None` throughout, so that zeros are neither created nor computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import source
from olympus_core.base.avals import get_aval
from olympus_core.base.context import state
from olympus_core.ir import trace
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.trace import Trace, using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.primitives.collective import varying
from olympus_core.transforms.flat import check_leaks


class JVPTracer(Tracer):
    """A value with a tangent."""

    __slots__ = ("mark", "primal", "tangent")
    owner: JVPTrace

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any) -> None:
        self.owner = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = get_aval(primal)
        self.mark = None if isinstance(primal, Tracer) else source.current_location()

    def origin(self) -> str:
        """Return the derivative that the value is in, and the origin of the value."""
        inner = self.mark.place(", made at ") if self.mark else f": {self.primal.origin()}"
        return f"a value in {self.owner.what}{inner}"

    def __repr__(self) -> str:
        if self.owner.linear:
            tangent = get_aval(self.tangent).short_name()
            return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


class JVPTrace:
    """Propagates a tangent with each value; if `linear`, the parent records the tangents."""

    __slots__ = ("linear", "parent", "what")

    def __init__(self, parent: Trace, what: str = "a derivative", linear: bool = False) -> None:
        self.parent = parent
        self.what = what
        self.linear = linear

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's `jvp` in the parent trace."""
        primals, tangents, active = [], [], False
        for x in args:
            if x.__class__ is JVPTracer and x.owner is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = True
            else:
                primals.append(x)
                tangents.append(None)
        with using_trace(self.parent):
            if not active:
                return self.parent.process(primitive, args, params)
            out, tangent = primitive.jvp(primals, tangents, **params)
            if state.axes:
                several = primitive.multiple_results
                tangent = (
                    list(map(_varying_like, tangent, out))
                    if several
                    else _varying_like(tangent, out)
                )
        if primitive.multiple_results:
            return [self.wrap(o, t) for o, t in zip(out, tangent, strict=True)]
        return self.wrap(out, tangent)

    def wrap(self, primal: Any, tangent: Any) -> Any:
        """Return a tracer; or the value itself if the tangent is zero."""
        return primal if tangent is None else JVPTracer(self, primal, tangent)

    def unwrap(self, x: Any) -> tuple[Any, Any]:
        """Return a value and its tangent."""
        if x.__class__ is JVPTracer and x.owner is self:
            return x.primal, x.tangent
        return x, None


def _varying_like(tangent: Any, primal: Any) -> Any:
    """Return a tangent that varies along the axes of a `shard_map` along which its value does.

    So in reverse mode a value that does not vary gets the sum of the cotangents of all its uses.
    """
    return None if tangent is None else varying(tangent, get_aval(primal).vma)


def jvp_flat(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    what: str = "a derivative",
) -> tuple[list[Any], list[Any]]:
    """Return the flat results of a flat function at `primals`, and their tangents (None: zero).

    `what` names the transformed function in messages.
    """
    jvp = JVPTrace(trace.current_trace(), what)
    inputs = [jvp.wrap(x, _varying_like(t, x)) for x, t in zip(primals, tangents, strict=True)]
    with using_trace(jvp):
        outs = fun(*inputs)
    pairs = [jvp.unwrap(x) for x in outs]
    del inputs, outs
    check_leaks(jvp, what)
    return [p for p, _ in pairs], [t for _, t in pairs]
