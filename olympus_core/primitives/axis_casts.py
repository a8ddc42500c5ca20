"""Casts and collectives between the states of a value along the axes of a checked `shard_map`.

Along an axis a value varies, is the same on all devices (invarying), or is unreduced: the devices
have terms of a sum. A reduced value is the same on all devices, and its cotangent is unreduced.
The sharding in a type records the unreduced and reduced axes, on a mesh whose axes are manual.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.arrays.mesh_context import abstract_mesh
from olympus_core.arrays.types_on_meshes import typed_sharding
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ShardingError
from olympus_core.ir import unreduced_rules
from olympus_core.ir.primitive import LinearPrimitive, op
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding
from olympus_core.primitives.collective import (
    AllGather,
    CollectivePrimitive,
    Psum,
    ReduceScatter,
    varying,
)
from olympus_core.primitives.reduction import reduce_sum_p

if TYPE_CHECKING:
    from olympus_core.ir.primitive import Avals
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.placement.mesh import AnyMesh


def _with_axes(
    aval: ShapedArray, unreduced: frozenset[Any], reduced: frozenset[Any], mesh: AnyMesh | None
) -> ShapedArray:
    """Return the type with other unreduced and reduced axes, of a mesh of manual axes."""
    if aval.explicit is not None:
        sharding = aval.explicit.update(
            spec=aval.explicit.spec.update(unreduced=unreduced, reduced=reduced)
        )
    elif mesh is not None:
        spec = PartitionSpec(*[None] * aval.ndim, unreduced=unreduced, reduced=reduced)
        sharding = NamedSharding(mesh, spec)
    else:
        return aval
    return aval.with_sharding(typed_sharding(sharding, aval.ndim))


def states(aval: ShapedArray, names: Collection[Any]) -> set[str]:
    """Return the states of a type along axes: "varying", "unreduced", "reduced", "invarying"."""
    sets = {"unreduced": unreduced_rules.unreduced(aval), "reduced": unreduced_rules.reduced(aval)}
    found = set()
    for name in names:
        own = [state for state, axes in sets.items() if name in axes]
        found.add("varying" if name in aval.vma else own[0] if own else "invarying")
    return found


class AxisCast(CollectivePrimitive):
    """A primitive that changes the state of its operand along its axes from `before` to `after`.

    Its parameter `mesh` is the mesh of the result's type, for a result with unreduced or reduced
    axes.
    """

    raised_from: tuple[str, ...] = ()
    before: ClassVar[str]
    after: ClassVar[str]

    def cast(self, x: Any, **params: Any) -> Any:
        """Apply the primitive in the body of a `shard_map`, whose mesh is that of the type."""
        if self.after in ("unreduced", "reduced"):
            params["mesh"] = abstract_mesh()
        return self.bind(x, **params)

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        (aval,), names = avals, params[self.axis_param]
        axes = frozenset(names)
        if wrong := axes & self._other_axes(aval, axes):
            before, after = self.before.capitalize(), self.after.capitalize()
            raise ShardingError(
                f"{self.name.removesuffix('_p')} is a {before} -> {after} collective. This means "
                f"that the axis names passed to it must be present in the {self.before} axes of "
                f"its operand's type. Got axes={tuple(names)}, without the state for "
                f"{', '.join(sorted(map(repr, wrong)))}, and the operand {aval.long_name()}"
            )
        explicit = aval.explicit
        unreduced, reduced = unreduced_rules.unchanged("", (aval,))
        (out,) = self._abstract((aval.without_sharding(),), params)
        out = out.update(vma=aval.vma - axes | (axes if self.after == "varying" else frozenset()))
        unreduced = unreduced - axes | (axes if self.after == "unreduced" else frozenset())
        reduced = reduced - axes | (axes if self.after == "reduced" else frozenset())
        mesh = params.get("mesh") if explicit is None else explicit.mesh
        return (_with_axes(out, unreduced, reduced, mesh),)

    def _other_axes(self, aval: ShapedArray, axes: frozenset[Any]) -> frozenset[Any]:
        """Return the axes along which an operand has not the state `before`."""
        unreduced, reduced = unreduced_rules.unchanged("", (aval,))
        own = {"varying": aval.vma, "unreduced": unreduced, "reduced": reduced}
        if self.before == "invarying":
            return aval.vma | unreduced | reduced
        return axes - own[self.before]


class LocalCast(AxisCast, LinearPrimitive):
    """A cast without communication; its transpose is the cast `back`, or a collective."""

    axis_param: ClassVar[str] = "axes"
    #: the name of the primitive that transposes it
    back: ClassVar[str]

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0]

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        return frozenset()

    def differing(
        self, agreement: Agreement, eqn: Any, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return operands

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return operands[0]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        params = {"axes": params["axes"]} | self._mesh_of(operands[0])
        return [getattr(op, self.back)(cotangent, **params)]

    def _mesh_of(self, operand: Any) -> dict[str, Any]:
        """Return the parameter `mesh` of the primitive that transposes it."""
        return {}


class VaryUnreducedCast(LocalCast):
    """The operand, whose values on the devices are terms of a sum along the axes."""

    before, after, back = "varying", "unreduced", "reduced_vary_cast_p"


class ReducedVaryCast(LocalCast):
    """The operand, which is the same on all devices, typed to vary along the axes."""

    before, after, back = "reduced", "varying", "vary_unreduced_cast_p"

    def _mesh_of(self, operand: Any) -> dict[str, Any]:
        return {"mesh": operand.aval.explicit.mesh}


class Preduced(LocalCast):
    """The operand, whose cotangent is unreduced along the axes."""

    before, after, back = "invarying", "reduced", "unreduced_psum"


class PsumInvariant(Psum):
    """The sum along axes along which the type of the operand records that it varies."""

    raised_from: tuple[str, ...] = ()


class UnreducedPsum(AxisCast, Psum):
    """The sum of the terms along unreduced axes."""

    before, after = "unreduced", "invarying"

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [op.preduced(cotangent, **params, mesh=operands[0].aval.explicit.mesh)]


class UnreducedReduceScatter(AxisCast, ReduceScatter):
    """The sum of the terms along an unreduced axis, of which each device gets one part."""

    before, after = "unreduced", "varying"

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        back = {_GATHER if n == _SCATTER else n: value for n, value in params.items()}
        return [op.all_gather_reduced(cotangent, **back, mesh=operands[0].aval.explicit.mesh)]


class AllGatherReduced(AxisCast, AllGather):
    """All values along the axis, of which the cotangent is unreduced."""

    before, after = "varying", "reduced"

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        back = {_SCATTER if n == _GATHER else n: v for n, v in params.items() if n != "mesh"}
        return [op.unreduced_reduce_scatter(cotangent, **back)]


class AllGatherInvariant(AxisCast, AllGather):
    """All values along the axis, typed to be the same on all devices."""

    before, after = "varying", "invarying"

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """Return each device's own part of the cotangent."""
        (name,), d = params["axis_name"], params[_GATHER]
        x = varying(cotangent, frozenset(params["axis_name"]))
        index = op.axis_index(axis_name=name, varies=True)
        shape = list(get_aval(x).shape)
        size = shape[d] // params["axis_size"]
        zero = varying(np.int32(0), get_aval(index).vma)
        starts = [zero] * len(shape)
        starts[d] = op.mul(index, np.int32(size))
        part = op.dynamic_slice(x, *starts, slice_sizes=(*shape[:d], size, *shape[d + 1 :]))
        return [part if params["tiled"] else op.squeeze(part, dimensions=(d,))]


_GATHER, _SCATTER = "all_gather_dimension", "scatter_dimension"

psum_invariant_p = PsumInvariant("psum_invariant", reduce_sum_p)
vary_unreduced_cast_p = VaryUnreducedCast("vary_unreduced_cast_p")
reduced_vary_cast_p = ReducedVaryCast("reduced_vary_cast_p")
preduced_p = Preduced("preduced")
unreduced_psum_p = UnreducedPsum("unreduced_psum", reduce_sum_p)
unreduced_reduce_scatter_p = UnreducedReduceScatter("unreduced_reduce_scatter")
all_gather_reduced_p = AllGatherReduced("all_gather_reduced")
all_gather_invariant_p = AllGatherInvariant("all_gather_invariant")


def cast_like(x: Any, like: ShapedArray) -> Any:
    """Return a value with the unreduced and reduced axes of a type on a mesh of manual axes.

    It is the same on all devices along the reduced ones, and each device's value is a term along
    the unreduced ones: zeros may have any type.
    """
    unreduced, reduced = unreduced_rules.unchanged("", (like,))
    own_unreduced, own_reduced = unreduced_rules.unchanged("", (get_aval(x),))
    if axes := tuple(sorted(unreduced - own_unreduced, key=str)):
        x = vary_unreduced_cast_p.bind(varying(x, axes), axes=axes, mesh=like.explicit.mesh)
    if axes := tuple(sorted(reduced - own_reduced, key=str)):
        x = preduced_p.bind(x, axes=axes, mesh=like.explicit.mesh)
    return x
