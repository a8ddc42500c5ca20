"""The state around running code, and types of mapped values, under JAX's names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import Context, state, surroundings
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Var
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.trace import Trace, using_trace
from olympus_core.transforms.batching import BatchTrace, batched_aval
from olympus_core.transforms.staging import StagingTrace

#: the effects of a program without any
no_effects: frozenset[Primitive] = frozenset()
#: the classes of NumPy values that are arrays
array_types: set[type] = {
    np.ndarray,
    *(np.dtype(name).type for name in ("bool", "complex64", "complex128")),
    *(np.dtype(f"{kind}{bits}").type for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *(np.dtype(f"float{bits}").type for bits in (16, 32, 64)),
    ml_dtypes.bfloat16,
}


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of one of the values along an axis.

    >>> mapped_aval(2, 0, ShapedArray((2, 3), "float32"))
    ShapedArray(float32[3])
    """
    return batched_aval(aval, axis)


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray, *_: Any) -> ShapedArray:
    """Return the type of values along a new axis, each of which has the type `aval`.

    >>> unmapped_aval(2, 0, ShapedArray((3,), "float32"))
    ShapedArray(float32[2,3])
    """
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def gensym(*_: Any) -> Callable[[ShapedArray], Var]:
    """Return a function that makes a new variable of a type.

    >>> gensym()(ShapedArray((3,), "float32"))
    Var(f32[3])
    """
    return Var


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """Return the dtype of the tangents of values of a dtype: float0 for integers and bools.

    >>> primal_dtype_to_tangent_dtype(numpy.dtype("int32")) == ox.float0
    True
    """
    dtype = np.dtype(primal_dtype)
    return dtype if dtypes.kind(dtype) in "fc" else dtypes.float0


class TraceState:
    """The state that a traced program depends on; two are equal if programs are the same."""

    def __init__(self) -> None:
        self._state = trace.current_trace(), surroundings()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TraceState):
            return False
        return self._state[0] is other._state[0] and self._state[1] == other._state[1]

    def __hash__(self) -> int:
        return hash((id(self._state[0]), self._state[1]))


def get_opaque_trace_state(convention: Any = None) -> TraceState:
    """Return the state around the call, to compare with another one.

    >>> get_opaque_trace_state() == get_opaque_trace_state()
    True
    """
    return TraceState()


def find_top_trace(_: Any = None) -> Trace:
    """Return the trace to which primitives are bound now.

    >>> trace = find_top_trace()
    """
    return trace.current_trace()


def call_impl(f: Any, *args: Any, **params: Any) -> Any:
    """Return the result of a WrappedFun.

    >>> call_impl(wrap_init(lambda x: x), 1)
    """
    return f.call_wrapped(*args)


@contextlib.contextmanager
def set_current_trace(new: Trace, check_leaks: bool = False) -> Iterator[None]:
    """Within the context, bind primitives to a trace.

    >>> with set_current_trace(find_top_trace()):
    ...     x = numpy.sqrt(16.0)
    """
    with using_trace(new):
        yield


@contextlib.contextmanager
def take_current_trace() -> Iterator[Trace]:
    """Within the context, execute bound primitives; it has the trace from before.

    >>> with take_current_trace() as trace:
    ...     x = numpy.sqrt(16.0)
    """
    old = trace.current_trace()
    with using_trace(Context.trace):
        yield old


@contextlib.contextmanager
def eval_context() -> Iterator[None]:
    """Within the context, execute bound primitives, also in a function that is being traced.

    >>> with eval_context():
    ...     x = numpy.sqrt(16.0)
    """
    with using_trace(Context.trace):
        yield


def _around() -> Iterator[Any]:
    """Yield the current traces, the innermost first."""
    current: Any = trace.current_trace()
    while current is not None:
        yield current
        current = getattr(current, "parent", None)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Return True in a function that is being traced to a program.

    >>> unsafe_am_i_under_a_jit_DO_NOT_USE()
    False
    """
    return any(isinstance(t, StagingTrace) and not hasattr(t, "parent") for t in _around())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Return True in a function that is being mapped.

    >>> unsafe_am_i_under_a_vmap_DO_NOT_USE()
    False
    """
    return any(isinstance(t, BatchTrace) for t in _around())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Return the names of the mapped axes around the call.

    >>> unsafe_get_axis_names_DO_NOT_USE()
    []
    """
    return [name for name, _ in state.axes]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Return True if a mapped axis around the call has a name.

    >>> nonempty_axis_env_DO_NOT_USE()
    False
    """
    return bool(state.axes)


class TraceTag:
    """The identity of a transformation."""
