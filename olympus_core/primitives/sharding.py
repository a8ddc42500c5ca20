"""The sharding of a value in a program for several devices: constraints, and types."""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.arrays.mesh_context import (
    NO_MESH,
    abstract_mesh,
    concrete_like,
    context_mesh,
)
from olympus_core.arrays.sharded_array import ShardedArray as PlacedArray
from olympus_core.arrays.sharded_array import put_on
from olympus_core.arrays.types_on_meshes import typed_sharding
from olympus_core.base import source
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state
from olympus_core.base.errors import ShardingError, TransformError
from olympus_core.ir.primitive import Avals, Batched, Linear, LinearPrimitive, SingleResult
from olympus_core.ir.sharding_rules import Specs, inserted, spec_of
from olympus_core.ir.tracer import Tracer
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.shardy import is_constant_expression
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    MemorySpace,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    in_auto_axes,
    is_on_host,
)
from olympus_core.primitives.axis_casts import cast_like

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class ConstraintParams(dict[str, Any]):
    """The parameters of a constraint, with the names that only JAX's constraints have."""

    def __missing__(self, name: str) -> Any:
        if name == "unconstrained_dims":
            spec = getattr(self["sharding"], "spec", PartitionSpec()).partitions
            return frozenset(i for i, e in enumerate(spec) if e is PartitionSpec.UNCONSTRAINED)
        if name in ("context_mesh", "layout"):
            return context_mesh() or NO_MESH if name == "context_mesh" else None
        raise KeyError(name)


class ShardingConstraint(LinearPrimitive, SingleResult):
    """Its operand, with the sharding `sharding`."""

    raised_from: tuple[str, ...] = ("sdy.sharding_constraint",)

    changes_mesh = True

    def bind(self, *args: Any, sharding: Sharding, **_: Any) -> Any:
        return state.trace.process(self, args, ConstraintParams(sharding=sharding))

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        sharding: Sharding = params["sharding"]
        sharding.tiling_of(avals[0].shape, f"an array {avals[0].long_name()}")
        return avals[0]

    def sharding_rule(self, avals: Avals, outs: Avals, params: dict[str, Any]) -> Specs:
        return [spec_of(avals[0])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        sharding = params["sharding"]
        if ctx.manual is not None:
            refuse_manual(sharding, ctx.manual.names)
            if len(ctx.manual.names) == len(ctx.manual.mesh.axis_names):
                return operands[0]  # each device has its own value, which needs no placement
        attribute = ctx.meshes.attribute(sharding, ctx.aval_out.shape)
        if attribute is None:
            return operands[0]
        return mlir.op1("sdy.sharding_constraint", ctx.aval_out, operands, {"sharding": attribute})

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        sharding = operation.sharding("sharding")
        manual = operation.manual
        if sharding is None or (manual is not None and manual.is_whole):
            return operands[0]
        if (
            all(x is PartitionSpec.UNCONSTRAINED for x in sharding.spec.partitions)
            and manual is not None
        ):
            return operands[0]  # JAX writes one after each operation of a manual computation
        return self.bind(operands[0], sharding=sharding)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, **params)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        ndim = get_aval(args[0]).ndim
        sharding = _with_axis(params["sharding"], dims[0] or 0, batched.spmd, ndim)
        return self.bind(args[0], sharding=sharding), dims[0]


class ArrayCopySemantics(enum.Enum):
    """The use of an operand's memory by `device_put`: shared, copied, or taken over."""

    REUSE_INPUT = enum.auto()
    ALWAYS_COPY = enum.auto()
    DONATE_INPUT = enum.auto()

    def __repr__(self) -> str:
        return f"ArrayCopySemantics.{self.name}"


class DevicePut(LinearPrimitive):
    """Its operands, each moved to one of `devices`: a device, a sharding, a memory, or None.

    In a program, a device has no effect, and neither has a sharding, unless an accelerator moves
    the operand between its memory and the host's.
    """

    multiple_results = True

    changes_mesh = True

    def bind(self, *args: Any, **params: Any) -> Any:
        if any(isinstance(x, Tracer) for x in args):
            return super().bind(*args, **params)
        return [transferred(x, where) for x, where in zip(args, params["devices"], strict=True)]

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        return tuple(map(_moved_type, avals, params["devices"]))

    def destinations(self, params: dict[str, Any]) -> Sequence[Any]:
        return tuple(params["devices"])

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if ctx.platform == "cpu":
            return operands
        moved = zip(operands, ctx.avals_in, ctx.avals_out, params["devices"], strict=True)
        return [
            _constrained(ctx, x, out, where) if aval.on_host or out.on_host else x
            for x, aval, out, where in moved
        ]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        moving = [i for i, t in enumerate(tangents) if t is not None]
        some = {name: tuple([values[i] for i in moving]) for name, values in params.items()}
        moved_tangents = [None] * len(tangents)
        results = self.bind(*[tangents[i] for i in moving], **some)
        for i, t in zip(moving, results, strict=True):
            moved_tangents[i] = t
        return self.bind(*primals, **params), moved_tangents

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        def back(ct: Any, x: Any, src: Any) -> Any:
            if ct is None or not isinstance(x, Linear):
                return None
            is_back = get_aval(ct).on_host == x.aval.on_host
            where = src if src is not None or is_back else x.aval.memory_space
            reuse = {"srcs": (None,), "copy_semantics": (ArrayCopySemantics.REUSE_INPUT,)}
            return ct if where is None else self.bind(ct, devices=(where,), **reuse)[0]

        return [*map(back, cotangent, operands, params["srcs"])]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        devices = tuple([
            where.with_partitions(inserted(_entries(where, dim), dim, batched.spmd))
            if isinstance(where, NamedSharding) and dim is not None
            else where
            for where, dim in zip(params["devices"], dims, strict=True)
        ])  # fmt: skip
        return self.bind(*args, **params | {"devices": devices}), list(dims)


def transferred(x: Any, where: Any) -> Any:
    """Return an array on a device or with a sharding, or on its devices in another memory."""
    if where is None:
        return x
    if isinstance(where, MemorySpace):
        own = x.sharding
        kind = {MemorySpace.Device: "device", MemorySpace.Host: "pinned_host"}.get(where)
        same = kind in (None, own.memory_kind)
        return x if same else put_on(x, own.with_memory_kind(kind))
    return put_on(x, where if isinstance(where, Sharding) else SingleDeviceSharding(where))


def _moved_type(aval: ShapedArray, where: Any) -> ShapedArray:
    """Return the type of an array that is moved to `where`."""
    if isinstance(where, MemorySpace):
        same = where is MemorySpace.Any
        return aval if same else aval.with_memory(where is MemorySpace.Host)
    if not isinstance(where, Sharding):
        return aval
    where.check_shape(aval.shape, f"an array {aval.long_name()}")
    return aval.with_memory(is_on_host(where))


def _constrained(ctx: LoweringContext, x: Any, aval: ShapedArray, where: Any) -> Any:
    """Return a value of a program with the sharding `where`, if that is one on a mesh."""
    if not isinstance(where, NamedSharding) or ctx.manual is not None:
        return x
    attribute = ctx.meshes.attribute(where, aval.shape)
    if attribute is None:
        return x
    return mlir.op1("sdy.sharding_constraint", aval, (x,), {"sharding": attribute})


def _entries(sharding: NamedSharding, count: int) -> tuple[Any, ...]:
    """Return the entries of a sharding's spec, at least `count`."""
    spec = sharding.spec.partitions
    return (*spec, *[None] * (count - len(spec)))


class Reshard(LinearPrimitive, SingleResult):
    """Its operand, with `sharding` in its type.

    If the mesh of `sharding` has no explicit axes, the type has no sharding, and the compiler
    chooses one.
    """

    changes_mesh = True

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        return (avals[0].with_sharding(typed_sharding(params["sharding"], avals[0].ndim)),)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out  # its type has the constraint
        if out.explicit is None or not out.explicit.spec.unreduced:
            return operands[0]
        if not is_constant_expression(operands[0]):
            return operands[0]
        # the compiler would take each device's copy of a constant for a term
        whole = out.with_sharding(out.explicit.update(spec=out.explicit.spec.partitions))
        attribute = ctx.meshes.typed(whole)
        if attribute is None:
            return operands[0]
        return mlir.op1("sdy.sharding_constraint", out, operands, {"sharding": attribute})

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [cotangent]  # `backward` gives it the type of the operand

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim, sharding = dims[0] or 0, params["sharding"]
        entry = spec_of(get_aval(args[0]))[dim] if batched.entry is None else batched.entry
        spec = (*sharding.spec.partitions, *[None] * (dim - len(sharding.spec)))
        sharding = sharding.with_partitions(inserted(spec, dim, entry))
        return self.bind(args[0], sharding=sharding), dim


def retyped(x: Any, like: ShapedArray) -> Any:
    """Return an array with the sharding in the type `like`.

    An array that programs may move stays as it is where `like` splits no dimension.
    """
    have, explicit = get_aval(x).explicit, like.explicit
    if have is explicit or have == explicit:
        return x
    if explicit is None:
        return untyped(x)
    is_free = have is None and not isinstance(x, Tracer | PlacedArray)
    return x if is_free and like.is_whole else exactly_typed(x, like)


def exactly_typed(x: Any, like: ShapedArray) -> Any:
    """Return an array whose type has the same sharding as the type `like`."""
    have, explicit = get_aval(x).explicit, like.explicit
    if have is explicit or have == explicit:
        return x
    if explicit is None:
        return untyped(x)
    if not explicit.mesh.has_explicit_axes:
        return cast_like(x, like)
    return reshard_p.bind(x, sharding=explicit.update(mesh=concrete_like(explicit.mesh)))


def untyped(x: Any) -> Any:
    """Return an array without a sharding in its type: the compiler chooses one."""
    explicit = get_aval(x).explicit
    if explicit is None or not explicit.mesh.has_explicit_axes:
        return x
    sharding = in_auto_axes(explicit)
    return reshard_p.bind(x, sharding=sharding.update(mesh=concrete_like(sharding.mesh)))


def refuse_manual(sharding: Sharding, manual: Collection[Any]) -> None:
    """Raise ShardingError for a sharding along an axis that a surrounding `shard_map` maps over.

    Otherwise the compiler would end the process.
    """
    if not isinstance(sharding, NamedSharding):
        return
    named = [name for d in range(len(sharding.spec)) for name in sharding.spec.axes(d)]
    if wrong := [name for name in named if name in manual]:
        raise ShardingError(
            "The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto "
            f"axes of the mesh. Got spec={sharding.spec} and mesh={abstract_mesh()}. You probably "
            f"meant to use `reshard` API? shard_map maps over the axis {wrong[0]!r} here, and each "
            f"device has its own value{source.current_location().place()}",
            hint="name the other axes of the mesh alone",
        )


def _with_axis(sharding: Sharding, axis: int, names: Any, ndim: int) -> Sharding:
    """Return the sharding of an array of `ndim` dimensions with one more axis, split along `names`.

    Without names it is left to the compiler.
    """
    if isinstance(sharding, SingleDeviceSharding):
        return sharding
    if not isinstance(sharding, NamedSharding):
        raise TransformError(f"vmap has no rule for a constraint to {sharding!r}")
    count = ndim - 1 if names is None else axis
    entries = [*sharding.spec, *[None] * (count - len(sharding.spec))]
    spmd = () if names is None else names if isinstance(names, tuple) else (names,)
    if any(n in spmd for d in range(len(sharding.spec)) for n in sharding.spec.axes(d)):
        raise ShardingError(
            f"vmap spmd_axis_name {spmd} cannot appear in with_sharding_constraint spec, but got "
            f"spec {sharding.spec}",
            hint="name other axes of the mesh in the constraint",
        )
    entries.insert(axis, PartitionSpec.UNCONSTRAINED if names is None else names)
    return NamedSharding(sharding.mesh, PartitionSpec(*entries))


device_put_p = DevicePut("device_put")
reshard_p = Reshard("reshard")
sharding_constraint_p = ShardingConstraint("sharding_constraint")
