"""`olympus.experimental.buffer_callback`: Python functions that write the results of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.errors import ArgumentError
from olympus_core.base.source import function_name
from olympus_core.control.buffer_call import buffer_callback_p, buffer_effect_callback_p
from olympus_core.primitives.host_function import HostFunction


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """Return a function of arrays that calls a Python function on the buffers of a program.

    callback: a function of an `ExecutionContext`, of the tree of results, and of the arguments, all
    arrays of which are a `Buffer`. It writes the results, and returns None. On the CPU,
    `numpy.asarray` of a Buffer is its memory. result_shape_dtypes: the tree of the results' types.
    has_side_effect: True if a call is made also if its result is not used. vmap_method: the rule of
    `vmap`, as for `pure_callback`. input_output_aliases: pairs of an argument array and a result
    array in its memory. command_buffer_compatible: True to record the work of the first call on a
    GPU, and to repeat it without Python.

    Raises ArgumentError (a ValueError) for an alias of different types, TransformError for a
    derivative, and BackendError for an error of the function.

    >>> def add_one(context, out, x):
    ...     np.asarray(out)[...] = np.asarray(x) + 1
    >>> buffer_callback(add_one, ShapeDtypeStruct((2,), "float32"))(array([1.0, 2.0]))
    Array([2., 3.], dtype=float32)
    """
    types, out_tree = tree.flatten(result_shape_dtypes)
    results = tuple([shaped(tuple(x.shape), x.dtype) for x in types])
    primitive = buffer_effect_callback_p if has_side_effect else buffer_callback_p
    name = function_name(callback)
    path = f"{getattr(callback, '__module__', '')}.{name}"

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        avals = [get_aval(x) for x in leaves]
        outs = primitive.bind(
            *leaves,
            function=HostFunction(callback, in_tree, name, path),
            results=results,
            out_tree=out_tree,
            vmap_method=vmap_method,
            aliases=_checked_aliases(input_output_aliases or {}, avals, results),
            command_buffer_compatible=command_buffer_compatible,
        )
        return out_tree.unflatten(outs)

    return call


def _checked_aliases(
    aliases: Mapping[int, int], avals: list[ShapedArray], results: tuple[ShapedArray, ...]
) -> tuple[tuple[int, int], ...]:
    pairs = sorted((int(i), int(j)) for i, j in aliases.items())
    for i, j in pairs:
        mapping = f"input_output_aliases contains the mapping '{i}:{j}'"
        for kind, index, count in (("input", i, len(avals)), ("output", j, len(results))):
            if not 0 <= index < count:
                raise ArgumentError(
                    f"{mapping} with {kind} index {index} outside the range [0, {count})."
                )
        if avals[i].strip_weak() != results[j].strip_weak():
            raise ArgumentError(
                f"{mapping} referring to an input with abstract value {avals[i]} and an output "
                f"with a different abstract value {results[j]}."
            )
    return tuple(pairs)
