"""`xla_computation`: the unoptimized HLO of a Python function.

With an `axis_env`, the program is one that replicas run together: the named axes span them, in
row-major order, and collectives are messages among them.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from olympus_core import lowering, mlir, trace, tree, xla
from olympus_core.api import Jit, axes_of
from olympus_core.avals import ShapedArray, ShapeDtypeStruct
from olympus_core.calling import JitOptions
from olympus_core.errors import OlympusWarning, TransformError

__all__ = ["XlaComputation", "xla_computation"]

#: XLA limits the number of a program's parameters on some platforms
_MANY_ARGUMENTS = 100


class XlaComputation:
    """A program as XLA first sees it; see `xla_computation`."""

    def __init__(self, module: Any, tuple_args: bool, return_tuple: bool) -> None:
        self._module = module
        self._tuples = tuple_args, return_tuple

    def as_hlo_text(self) -> str:
        """The program as text, in which instructions are called by their operations."""
        return str(self._unlocated().as_hlo_text())

    def as_hlo_dot_graph(self) -> str:
        """The program as a graph, in Graphviz's dot language."""
        return str(self._unlocated().as_hlo_dot_graph())

    def as_serialized_hlo_module_proto(self) -> bytes:
        """The program as a serialized `HloModuleProto`, with the user's lines as metadata."""
        made = xla.computation(self._module, *self._tuples)
        return bytes(made.as_serialized_hlo_module_proto())

    def _unlocated(self) -> Any:
        return xla.computation(mlir.without_locations(self._module), *self._tuples)


class OutShape(ShapeDtypeStruct):
    """The type of a result of an XLA computation: shape, dtype and named shape."""

    __slots__ = ("named_shape",)
    named_shape: dict[Any, int]

    @staticmethod
    def of(aval: ShapedArray) -> OutShape:
        """That of a result of the given type."""
        made = OutShape(aval.shape, aval.dtype, weak_type=aval.weak_type)
        made.named_shape = {}
        return made


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
    """A function that gives the XLA computation of `fun` for the arguments it is called with.

    Arguments may be arrays, scalars, or any objects with `shape` and `dtype`.  The result has
    `as_hlo_text`, `as_hlo_dot_graph` and `as_serialized_hlo_module_proto`.  How instructions are
    numbered, and what parameters are called in the text, is up to jaxlib's printer, and differs
    between its versions.

    Args:
      static_argnums, donate_argnums: as `jit` has them.
      axis_env: pairs of an axis's name and size, for the collectives in `fun`.  The program is
        then one of as many replicas as the sizes multiply to, and gives its results as they
        are; without, it gives a tuple, of one result too.
      in_parts, out_parts: tree prefixes of the arguments and the result, with the number of
        parts that each dimension is cut in, as a tuple of ints, or None for a whole copy in each
        partition.  All tuples multiply to the number of partitions.
      backend: "cpu" (the default), "gpu" or "tpu".
      tuple_args: whether the program takes one tuple; None stands for more than 100 arguments.
      instantiate_const_outputs: has no effect, which a warning says where it is given.
      return_shape: give a pair, the computation and the result's tree of objects with `shape`,
        `dtype` and `named_shape`, which is {}: no result has a named axis.

    Raises TransformError for options that do not fit the function, and UnboundAxisError for a
    collective over an axis that `axis_env` does not name.

    >>> print(xla_computation(lambda x: sin(cos(x)))(3.0).as_hlo_text())
    """
    if instantiate_const_outputs is not None:
        warnings.warn("instantiate_const_outputs has no effect", OlympusWarning, stacklevel=2)
    staged = Jit(fun, JitOptions.of(fun, static_argnums, donate_argnums=donate_argnums))
    axes = axes_of(axis_env)
    target = xla.target(backend or "cpu")

    @functools.wraps(fun)
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
        many = traced.in_tree.num_leaves > _MANY_ARGUMENTS
        tupled = many if tuple_args is None else tuple_args
        made = XlaComputation(module, tupled, return_tuple=not axes)
        return (made, tree.map(OutShape.of, traced.out_avals)) if return_shape else made

    return make


Parts = list[tuple[str | None, int]]


def _is_spec(x: Any) -> bool:
    return x is None or (isinstance(x, tuple) and len(x) > 0 and all(isinstance(n, int) for n in x))


def _parts(parts: Any, avals: Any, what: str) -> Parts:
    """The sharding in HLO's syntax and the number of parts, of each array; none without `parts`."""
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
