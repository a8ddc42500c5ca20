"""`custom_partitioning`: a function that its author partitions over several devices.

A program of several devices calls it as one operation. The compiler propagates shardings through
the operation by a rule of factors. Then it calls the author's function, which returns the program
of each device.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np

from olympus_core import xla
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.context import state
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import (
    ArgumentError,
    LoweringError,
    ShardingError,
    SignatureError,
    UndefinedRuleError,
    UnexpectedTracerError,
    UnsupportedError,
)
from olympus_core.base.source import function_name, look_like
from olympus_core.control.call import InlineCall
from olympus_core.control.code_digest import code_digest
from olympus_core.control.custom_rules import WithSetters, fix_static_args, positions
from olympus_core.control.shard_map import manual_naming
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Eqn
from olympus_core.ir.primitive import TangentSplit
from olympus_core.ir.tracer import Tracer
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.lowering.module_state import Manual
from olympus_core.lowering.whole_module import lower_with_forms
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.factor_rules import rule_attribute
from olympus_core.placement.factor_rules import SdyShardingRule, parsed_rule
from olympus_core.placement.mesh import AnyMesh, AxisType, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding, Sharding
from olympus_core.transforms import data
from olympus_core.transforms.programs import closed
from olympus_core.transforms.staging import stage

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Partition = TypeVar("_Partition", bound=Callable[..., Any] | None)


class Definition:
    """The functions of `def_partition`, with the static arguments of one call and its trees.

    A definition equals only itself, and so do the equations that contain it.
    """

    def __init__(
        self,
        partition: Callable[..., Any],
        sharding_rule: SdyShardingRule | Callable[..., Any] | None,
        decode_shardings: bool,
        static_args: tuple[Any, ...],
        trees: tuple[tree.PyTreeDef, tree.PyTreeDef],
    ) -> None:
        self.partition, self.sharding_rule = partition, sharding_rule
        self.decode_shardings, self.static_args = decode_shardings, static_args
        self.in_tree, self.out_tree = trees

    def __repr__(self) -> str:
        return function_name(self.partition)

    def rule(
        self, mesh: AnyMesh, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]
    ) -> SdyShardingRule | None:
        """Return the sharding rule of the operation; None without one."""
        rule = self.sharding_rule
        if rule is None or isinstance(rule, SdyShardingRule):
            return rule
        types = [[mlir.tensor_type(a) for a in avals] for avals in (operands, results)]
        result: Any = rule(*self.static_args, mesh, *types)
        options: Mapping[str, Any] = {}
        if isinstance(result, list | tuple) and len(result) == 2:
            result, options = result
        if isinstance(result, str):
            return parsed_rule(result, **options)
        if not isinstance(result, SdyShardingRule):
            raise ArgumentError(
                "sharding_rule callable must produce either an SdyShardingRule object or an "
                "Einsum-like notation string."
            )
        return result


class PartitionerOf(NamedTuple):
    """The partitioner of an operation: its definition, the mesh, and the target's platform.

    The mesh is None for a program without one.
    """

    definition: Definition
    mesh: AnyMesh | None
    platform: str

    def __str__(self) -> str:
        """Return the name of the author's function, with its module, and a digest of its code."""
        function: Any = self.definition.partition
        path = f"{getattr(function, '__module__', None)}:{function_name(function)}"
        return f"{path}:{code_digest(function)}"

    def partitioned(
        self,
        devices: Sequence[xla.Device],
        arguments: Sequence[xla.Whole],
        results: Sequence[xla.Whole],
    ) -> xla.Partitioned:
        """Return the program of each device that the author's function returns.

        Raises ArgumentError if its results do not have the shapes of their shardings, and for a
        mesh or shardings of other devices.
        """
        d, mesh = self.definition, _on(devices, self.mesh)
        decoding = mesh if d.decode_shardings else _NO_MESH
        in_types, out_types = (
            treedef.unflatten([_described(x, decoding, devices) for x in arrays])
            for treedef, arrays in ((d.in_tree, arguments), (d.out_tree, results))
        )
        own, lower_fn, out_shardings, in_shardings = d.partition(
            *d.static_args, mesh, in_types, out_types
        )
        if not isinstance(own, Mesh) or own.size != len(devices):
            raise ArgumentError(
                f"'{d}' must return the mesh first, of the program's {len(devices)} devices. Got "
                f"{own!r:.80}"
            )
        outs = _hlo_shardings(d.out_tree, out_shardings, results, len(devices))
        ins = _hlo_shardings(d.in_tree, in_shardings, arguments, len(devices))
        in_parts = [_part(x, s) for x, s in zip(arguments, ins, strict=True)]
        out_parts = [_part(x, s) for x, s in zip(results, outs, strict=True)]
        program = self._lowered(lower_fn, own, in_parts, out_parts)
        return xla.Partitioned(program, ins, outs)

    def _lowered(
        self,
        function: Callable[..., Any],
        mesh: Mesh,
        ins: Sequence[ShapedArray],
        outs: Sequence[ShapedArray],
    ) -> bytes:
        """Return the module of a function of the parts of one device."""
        names = frozenset(mesh.axis_names)

        def flat(*leaves: Any) -> list[Any]:
            return data.flatten_data(function(*self.definition.in_tree.unflatten(leaves)))[0]

        with trace.outermost(), manual_naming(mesh, names, checked=False):
            program = stage(flat, ins, what=f"'{function_name(function)}'")
            if [(a.shape, a.dtype) for a in program.out_avals] != [
                (a.shape, a.dtype) for a in outs
            ]:
                returned, needed = (
                    ", ".join(a.long_name() for a in avals) for avals in (program.out_avals, outs)
                )
                raise ArgumentError(
                    f"Mismatch in result shapes. {returned} vs {needed}: the function of one "
                    "device returned the former, and the shardings of the results need the latter"
                )
            entry = EntryAttributes("partitioned", num_partitions=mesh.size)
            lowered = lower_with_forms(program, entry, self.platform, manual=Manual(mesh, names))
        if lowered.callees:
            raise LoweringError(
                f"'{function_name(function)}' calls a Python function, and the program of each "
                "device, of custom_partitioning, cannot",
                hint="call it outside of the function that is partitioned",
            )
        return mlir.bytecode(lowered.module)


_NO_MESH = Mesh(np.empty((), object), ())


def _on(devices: Sequence[xla.Device], mesh: AnyMesh | None) -> Mesh:
    """Return a mesh on the devices of a program, in their order."""
    if mesh is None:
        return _NO_MESH
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return Mesh(grid.reshape(mesh.axis_sizes), mesh.axis_names, AxisType.Auto)


def _described(array: xla.Whole, mesh: Mesh, devices: Sequence[xla.Device]) -> ShapeDtypeStruct:
    """Return the shape, dtype and sharding of an array, on a mesh unless that is empty."""
    shape, sharding = tuple(array.shape.dimensions()), None
    if array.sharding is not None:
        like = () if mesh.empty else (NamedSharding(mesh, PartitionSpec()),)
        sharding = xla.sharding_like(array.sharding.to_proto(), len(shape), like, devices)
        if isinstance(sharding, NamedSharding):  # an entry for each dimension
            entries = sharding.spec.partitions
            missing = (None,) * (len(shape) - len(entries))
            sharding = sharding.update(spec=PartitionSpec(*entries, *missing))
    return ShapeDtypeStruct(shape, array.shape.numpy_dtype(), sharding=sharding)


def _hlo_shardings(
    treedef: tree.PyTreeDef, shardings: Any, arrays: Sequence[xla.Whole], num_devices: int
) -> list[Any]:
    """Return a tree of shardings in the compiler's form.

    Raises ArgumentError for other leaves, and for shardings on another number of devices, for which
    the compiler would end the process.
    """
    flat = []
    for sharding, array in zip(treedef.flatten_up_to(shardings), arrays, strict=True):
        if not isinstance(sharding, Sharding):
            raise ArgumentError(
                f"Custom Partitioning rules must return Sharding. Got {sharding!r:.80}"
            )
        if sharding.num_devices != num_devices and not sharding.is_fully_replicated:
            raise ArgumentError(
                f"Custom Partitioning rules must return shardings on the program's {num_devices} "
                f"devices. Got {sharding!r:.80}, which is on {sharding.num_devices}"
            )
        flat.append(sharding._to_xla_hlo_sharding(len(array.shape.dimensions())))
    return flat


def _part(array: xla.Whole, sharding: Any) -> ShapedArray:
    """Return the type of one device's part of an array in a sharding of the compiler."""
    part = sharding.tile(array.shape)
    return shaped(tuple(part.dimensions()), part.numpy_dtype())


class CustomPartitioning(InlineCall):
    """A call of `olympuspr`, which a program of several devices partitions by a `definition`.

    On one device, and in a `shard_map`, it is the program.
    """

    is_partitioned: ClassVar[bool] = True

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        module = ctx.module
        if module.num_partitions == 1 or module.portable or module.manual is not None:
            return super().lower(ctx, *operands, **params)
        mesh, definition = _program_mesh(ctx), params["definition"]
        rule = definition.rule(_NO_MESH if mesh is None else mesh, ctx.avals_in, ctx.avals_out)
        attribute = None if rule is None else rule_attribute(rule, ctx.avals_in, ctx.avals_out)
        partitioner = PartitionerOf(definition, mesh, module.platform)
        return ctx.partitioned_call(partitioner, operands, attribute)

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return eqn  # its author partitions all results

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        return None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> NoReturn:
        raise UnsupportedError(
            f"Differentiation rule for '{self.name}' not implemented",
            hint="define a derivative with custom_jvp or custom_vjp around the function",
        )

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> NoReturn:
        raise UnsupportedError(
            f"Transpose rule (for reverse-mode differentiation) for '{self.name}' not implemented"
        )

    def batch(
        self, batched: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> NoReturn:
        raise UnsupportedError(
            f"Batching rule for '{self.name}' not implemented",
            hint="define one with custom_batching.custom_vmap around the function",
        )


custom_partitioning_p = CustomPartitioning("custom_partitioning")


def _program_mesh(ctx: LoweringContext) -> AnyMesh | None:
    """Return the mesh of the program's shardings, or of the context; None without one.

    Raises ShardingError for several meshes.
    """
    meshes = ctx.module.entry_meshes
    if len(meshes) > 1:
        raise ShardingError(
            "mesh should be the same across the entire program. Got mesh shape for one sharding "
            f"{meshes[0]} and {meshes[1]} for another: a function with custom_partitioning is "
            "partitioned on one mesh"
        )
    if meshes:
        mesh = meshes[0]
        return mesh.update(axis_types=(AxisType.Auto,) * len(mesh.axis_names))
    entered: tuple[Mesh, ...] = state.entered_meshes
    return entered[-1] if entered else None


class custom_partitioning(WithSetters, Generic[_P, _R]):
    """A function whose program on several devices is given by `def_partition`.

    The function is called as usual on one device. In a program of several devices, the compiler
    shards its arguments and results by the `sharding_rule`, and then calls `partition`, which
    returns the program of each device.

    `static_argnums` are the positions of arguments that are not arrays; `partition` gets their
    values first. The function has no derivative, and no rule of `vmap`, of its own.

    Raises UndefinedRuleError (an AttributeError) for a call without `def_partition`,
    UnexpectedTracerError for a traced static argument or a traced value that the function closes
    over, and SignatureError (a TypeError) for an argument that is by keyword only.

    >>> @custom_partitioning
    ... def double(x): return 2 * x
    >>> def partition(mesh, arguments, result):
    ...     sharding = arguments[0].sharding
    ...     return mesh, lambda x: x + x, sharding, (sharding,)
    >>> _ = double.def_partition(partition, sharding_rule="i -> i")
    >>> double(olympus.numpy.ones(2))
    Array([2., 2.], dtype=float32)
    """

    __name__: str
    __wrapped__: Callable[_P, _R]

    def __init__(self, fun: Callable[_P, _R], static_argnums: int | Sequence[int] = ()) -> None:
        look_like(self, fun)
        self.fun = fun
        self.static_argnums = positions("static_argnums", static_argnums)
        self.partition: Callable[..., Any] | None = None
        self.sharding_rule: SdyShardingRule | Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.decode_shardings = True

    def def_partition(
        self,
        partition: _Partition,
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: SdyShardingRule | str | Callable[..., Any] | None = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> _Partition:
        """Set the functions that partition this one, and return `partition`.

        `partition` takes the static arguments, the mesh, and the tree of the arguments and the tree
        of the result, with a ShapeDtypeStruct with a `sharding` for each array. It returns the
        mesh, the function of one device, the shardings of the result and those of the arguments.
        The function of one device takes and returns its parts of the arrays; its collectives
        name the axes of the mesh.

        `sharding_rule` is an SdyShardingRule, or a text such as `"... i j, j k -> ... i k"`, or a
        function that returns one of them, or a pair of a text and a dict with the keyword arguments
        here. It takes the static arguments, the mesh, and lists of the types of the operands and
        the results. Without a rule, the compiler does not shard the result. The special factors
        and `factor_sizes` are those of a text: see SdyShardingRule.

        With `decode_shardings` False, shardings are not on the mesh. The other two functions are
        for a partitioner without rules of factors, and have no effect.

        Raises ArgumentError (a ValueError) for an invalid rule.

        >>> double.def_partition(partition, sharding_rule="i -> i") is partition
        True
        """
        special = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
        }
        if (
            isinstance(sharding_rule, SdyShardingRule)
            or callable(sharding_rule)
            or (sharding_rule is None)
        ):
            unknown = factor_sizes | {k: v for k, v in special.items() if len(v)}
            if unknown:
                raise ArgumentError(f"Unknown keyword arguments: {unknown}")
            self.sharding_rule = sharding_rule
        else:
            self.sharding_rule = parsed_rule(sharding_rule, **special, **factor_sizes)
        self.partition = partition
        self.propagate_user_sharding = propagate_user_sharding
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.decode_shardings = decode_shardings
        return partition

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if self.partition is None:
            raise UndefinedRuleError(
                f"No partition defined for custom_partitioning function {function_name(self.fun)} "
                "using def_partition."
            )
        fun, dynamic, static = fix_static_args(
            "static_argnums", self.fun, _positional(self.fun, args, kwargs), self.static_argnums
        )
        if any(isinstance(x, Tracer) for x in tree.leaves(static)):
            raise UnexpectedTracerError(
                "Found a JAX Tracer object passed as an argument to a custom_partitioning function "
                "in a position indicated as static by static_argnums: static arguments of "
                f"'{function_name(self.fun)}' are Python values"
            )
        callbacks = self.propagate_user_sharding or self.infer_sharding_from_operands
        if self.sharding_rule is None and callbacks is not None:
            raise UnsupportedError(
                "Shardy is used, but sharding propagation callbacks instead of sharding_rule are "
                "provided. Need to provide sharding_rule to migrate to Shardy."
            )
        leaves, in_tree = data.flatten_data(dynamic)
        out_trees: list[tree.PyTreeDef] = []

        def flat(*values: Any) -> list[Any]:
            outs, out_tree = data.flatten_data(fun(*in_tree.unflatten(values)))
            out_trees.append(out_tree)
            return outs

        entered: tuple[Mesh, ...] = state.entered_meshes
        mesh = entered[-1] if entered else _NO_MESH
        with manual_naming(mesh, mesh.axis_names, checked=False):
            what = f"'{function_name(self.fun)}', a function with custom_partitioning"
            program = stage(flat, [get_aval(x) for x in leaves], what=what)
        traced = next((c for c in program.consts if isinstance(c, Tracer)), None)
        if traced is not None:
            raise UnexpectedTracerError(
                f"{what}, closes over a traced array: it is {traced.origin()}",
                hint="pass the array to the function as an argument",
            )
        definition = Definition(
            self.partition,
            self.sharding_rule,
            self.decode_shardings,
            static,
            (in_tree, out_trees[-1]),
        )
        outs = custom_partitioning_p.bind(*leaves, olympuspr=closed(program), definition=definition)
        result: _R = out_trees[-1].unflatten(outs)
        return result


def _positional(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all arguments by position, with defaults; raise SignatureError if one has none."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except TypeError as e:
        raise SignatureError(f"'{function_name(fun)}': {e}") from None
    bound.apply_defaults()
    if bound.kwargs:
        raise SignatureError(
            f"'{function_name(fun)}': keyword arguments could not be resolved to positions: "
            f"{', '.join(bound.kwargs)}"
        )
    return bound.args
