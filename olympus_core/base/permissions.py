"""Contexts in which an operation of a program is an error, or has another form."""

from __future__ import annotations

import contextlib

from olympus_core.base.context import checked, state, switched
from olympus_core.base.errors import DisabledError


def no_tracing(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise DisabledError (a RuntimeError) when `jit` traces a function.

    A call with arguments of known types runs its program.

    >>> double = jit(lambda x: 2 * x)
    >>> with no_tracing():
    ...     double(3)
    Traceback (most recent call last):
      ...
    olympus.errors.DisabledError: ...
    """
    return switched("no_tracing", checked("no_tracing", new_val))


def no_execution(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise DisabledError (a RuntimeError) when a program would run.

    Functions can be traced, lowered and compiled.

    >>> with no_execution():
    ...     jit(lambda x: 2 * x)(3)
    Traceback (most recent call last):
      ...
    olympus.errors.DisabledError: ...
    """
    return switched("no_execution", checked("no_execution", new_val))


def check_tracing(name: str) -> None:
    """Raise DisabledError if functions must not be traced."""
    if state.no_tracing:
        raise DisabledError(
            f"re-tracing function {name} for `jit`, but 'no_tracing' is set",
            hint="call the function with arguments of such types outside of the context first",
        )


def check_execution(name: str) -> None:
    """Raise DisabledError if programs must not run."""
    if state.no_execution:
        raise DisabledError(
            f"tried to execute function {name}, but the no_execution config option is set",
            hint="run it outside of the context",
        )


def allow_f16_reductions(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, with False, raise ArgumentError for a sum of half floats.

    It applies to `lax.reduce_sum` of float16 and bfloat16 along an axis of another length than 1.
    `numpy.sum` adds in float32.

    >>> with allow_f16_reductions(False):
    ...     lax.reduce_sum(ones(2, "float16"), (0,))
    Traceback (most recent call last):
      ...
    olympus.errors.ArgumentError: ...
    """
    return switched("allow_f16_reductions", checked("allow_f16_reductions", new_val))


def auto_pcast(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, with False, raise an error for operands that vary along different axes.

    In a checked `shard_map` the operands of an operation must vary along the same axes of the mesh;
    otherwise `lax.pcast` is inserted.  With False, the operation raises ShardingError instead.

    >>> with auto_pcast(False):
    ...     x = numpy.sqrt(16.0)
    """
    return switched("auto_pcast", checked("auto_pcast", new_val))


def remove_size_one_mesh_axis_from_type(
    new_val: bool = True,
) -> contextlib.AbstractContextManager[None]:
    """Within the context, leave axes of a mesh of size 1 out of the types of arrays.

    >>> with remove_size_one_mesh_axis_from_type():
    ...     x = numpy.sqrt(16.0)
    """
    name = "remove_size_one_mesh_axis_from_type"
    return switched(name, checked(name, new_val))


def softmax_custom_jvp(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, `nn.softmax` has a derivative of its own, of its result alone.

    The derivative saves the result instead of the exponentials.

    >>> with softmax_custom_jvp():
    ...     grad(lambda x: ox.nn.softmax(x)[0])(numpy.zeros(2))
    Array([ 0.25, -0.25], dtype=float32)
    """
    return switched("softmax_custom_jvp", checked("softmax_custom_jvp", new_val))


def threefry_partitionable(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, with False, hash counters in pairs for random bits and new keys.

    JAX had these values until version 0.5.  An element then depends on the size of the result, so
    that devices cannot compute their parts of it alone.

    >>> with threefry_partitionable(False):
    ...     ox.random.bits(ox.random.key(0), (2,))
    Array([4070199207, 4202798038], dtype=uint32)
    """
    return switched("threefry_partitionable", checked("threefry_partitionable", new_val))
