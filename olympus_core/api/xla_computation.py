"""`xla_computation`: the unoptimized HLO of a Python function.

With an `axis_env`, the program is one that replicas run together: the named axes span them, in
row-major order, and collectives are messages among them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from olympus_core import xla
from olympus_core.api.jit import Jit, axes_of
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import OlympusWarning, TransformError
from olympus_core.base.source import wraps
from olympus_core.ir import trace
from olympus_core.jit.options import JitOptions
from olympus_core.lowering import whole_module as lowering
from olympus_core.mlir import bindings as mlir

#: XLA limits the number of a program's parameters on some platforms
_MANY_ARGUMENTS = 100


class XlaComputation:
    """A program as XLA first sees it; see `xla_computation`."""

    def __init__(self, module: Any, tuple_args: bool, return_tuple: bool) -> None:
        self._module = module
        self._tuples = tuple_args, return_tuple

    def as_hlo_text(self) -> str:
        """Return the program as text, with instructions named by their operations."""
        return str(self._unlocated().as_hlo_text())

    def as_hlo_dot_graph(self) -> str:
        """Return the program as a graph, in Graphviz's dot language."""
        return str(self._unlocated().as_hlo_dot_graph())

    def as_serialized_hlo_module_proto(self) -> bytes:
        """Return the program as a serialized `HloModuleProto`, with the user's lines."""
        computation = xla.computation(self._module, *self._tuples)
        return bytes(computation.as_serialized_hlo_module_proto())

    def _unlocated(self) -> Any:
        return xla.computation(mlir.without_locations(self._module), *self._tuples)


class OutShape(ShapeDtypeStruct):
    """The type of a result of an XLA computation: shape, dtype and named shape."""

    __slots__ = ("named_shape",)
    named_shape: dict[Any, int]

    @staticmethod
    def of(aval: ShapedArray) -> OutShape:
        """Return the shape of a result of the given type."""
        shape = OutShape(aval.shape, aval.dtype, weak_type=aval.weak_type)
        shape.named_shape = {}
        return shape


def xla_computation(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    in_parts: Any = None,
    out_parts: Any = None,
    backend: str | None = None,
    tuple_args: bool | None = False,
    instantiate_const_outputs: bool | None = None,
    return_shape: bool = False,
    donate_argnums: int | Iterable[int] = (),
) -> Callable[..., Any]:
    """Return a function that returns the XLA computation of `fun` for its arguments.

    Arguments may be arrays, scalars, or any objects with `shape` and `dtype`. The result has
    `as_hlo_text`, `as_hlo_dot_graph` and `as_serialized_hlo_module_proto`. jaxlib's printer
    determines the numbers of instructions and the names of parameters in the text, and they differ
    between its versions.

    Args:
      static_argnums, donate_argnums: as for `jit`.
      axis_env: pairs of an axis's name and size, for the collectives in `fun`.  The number of
        replicas of the program is then the product of the sizes, and it returns its results as
        they are; without `axis_env` it returns a tuple, also for one result.
      in_parts, out_parts: tree prefixes of the arguments and the result, with the number of
        parts of each dimension as a tuple of ints, or None for a whole copy in each partition.
        The product of each tuple is the number of partitions.
      backend: "cpu" (the default), "gpu" or "tpu".
      tuple_args: True if the program takes one tuple; None means for more than 100 arguments.
      instantiate_const_outputs: has no effect; a value gives a warning.
      return_shape: return a pair, the computation and the result's tree of objects with `shape`,
        `dtype` and `named_shape`, which is {}: no result has a named axis.

    Raises TransformError for options that do not fit the function, and UnboundAxisError for a
    collective over an axis that `axis_env` does not name.

    >>> xla_computation(lambda x: sin(cos(x)))(3.0).as_hlo_text().splitlines()[0]
    'HloModule xla_computation__lambda, entry_computation_layout={(f32[])->(f32[])}'
    """
    if instantiate_const_outputs is not None:
        warnings.warn("instantiate_const_outputs has no effect", OlympusWarning, stacklevel=2)
    staged = Jit(fun, JitOptions.of(fun, static_argnums, donate_argnums=donate_argnums))
    axes = axes_of(axis_env)
    target = xla.target(backend or "cpu")

    @wraps(fun)
    def make(*args: Any, **kwargs: Any) -> Any:
        with trace.naming(axes):
            traced = staged.trace(*args, **kwargs)
        ins = _parts(in_parts, traced.in_avals[0], "in_parts")
        outs = _parts(out_parts, traced.out_avals, "out_parts")
        entry = traced.entry(f"xla_computation_{staged.name}")._replace(
            axes=axes,
            arg_shardings=[text for text, _ in ins],
            result_shardings=[text for text, _ in outs],
            num_partitions=_one_count([*ins, *outs]),
        )
        module = lowering.lower_module(traced.olympuspr, entry, xla.platform_of(target))
        has_many = traced.in_tree.num_leaves > _MANY_ARGUMENTS
        tupled = has_many if tuple_args is None else tuple_args
        computation = XlaComputation(module, tupled, return_tuple=not axes)
        if not return_shape:
            return computation
        return computation, tree.map(OutShape.of, traced.out_avals)

    return make


Parts = list[tuple[str | None, int]]


def _is_spec(x: Any) -> bool:
    return x is None or (isinstance(x, tuple) and len(x) > 0 and all(isinstance(n, int) for n in x))


def _parts(parts: Any, avals: Any, what: str) -> Parts:
    """Return each array's sharding in HLO's syntax and number of parts; none without `parts`."""
    if parts is None:
        return []
    leaves, treedef = tree.flatten(avals)
    full = treedef.unflatten(range(len(leaves)))
    specs = tree.prefix_leaves("xla_computation", what, parts, full, is_leaf=_is_spec)
    return [_sharding(spec, aval, what) for spec, aval in zip(specs, leaves, strict=True)]


def _sharding(spec: Any, aval: ShapedArray, what: str) -> tuple[str, int]:
    if spec is None:
        return "{replicated}", 1
    if not _is_spec(spec) or len(spec) != aval.ndim or min(spec) < 1:
        raise TransformError(
            f"xla_computation: {what} needs a tuple with the number of parts of each dimension, "
            f"or None, and has {spec!r} for {aval.long_name()}"
        )
    count = math.prod(spec)
    text = f"{{devices=[{','.join(map(str, spec))}]<=[{count}]}}"
    return (text if count > 1 else "{replicated}"), count


def _one_count(parts: Parts) -> int:
    counts = {count for _, count in parts if count > 1}
    if len(counts) > 1:
        raise TransformError(
            "xla_computation: the arguments and results that are cut must all have the same number "
            f"of parts, and have {' and '.join(map(str, sorted(counts)))}"
        )
    return counts.pop() if counts else 1
