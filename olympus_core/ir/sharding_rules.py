"""Rules for shardings in types: the entries of a result's spec, from those of the operands.

An entry is None, the name of an axis of the type `Explicit`, or a tuple of names.  The rules are
those of JAX's module `jax.lax`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.errors import ShardingError, ShardingTypeError

if TYPE_CHECKING:
    from olympus_core.base.avals import Shape, ShapedArray
    from olympus_core.ir.primitive import Primitive
    from olympus_core.placement.mesh import AnyMesh

Spec = tuple[Any, ...]
Specs = Sequence[Spec]
Avals = Sequence["ShapedArray"]
#: the messages for operands of other shardings, by the name of the operation
_SAME = {
    "sort": "Arguments to sort must have equal shardings, got:",
    "select": "select cases must have the same shardings, got",
}
_HINT = "reshard an operand, as by olympus.sharding.reshard(x, P(...))"


def spec_of(aval: ShapedArray) -> Spec:
    """Return the entries of a type's sharding; None for each dimension without one."""
    if aval.explicit is None:
        return (None,) * aval.ndim
    entries: Spec = aval.explicit.spec.partitions
    return entries


def types_text(avals: Avals) -> str:
    """Return the types of operands for messages."""
    return ", ".join([a.short_name() for a in avals])


def shaped_text(aval: ShapedArray, spec: Spec) -> str:
    """Return the type of an array with a spec, which may be invalid, for messages."""
    sizes = [f"{n}@{e}" if e else str(n) for n, e in zip(aval.shape, spec, strict=True)]
    return f"{dtypes.short_name(aval.dtype)}[{','.join(sizes)}]"


def sharding_text(aval: ShapedArray) -> str:
    """Return the sharding in a type for messages."""
    return str(aval.sharding)


def ambiguous(message: str, avals: Avals, hint: str = _HINT) -> ShardingTypeError:
    """Return the error for operands whose shardings do not determine that of the result."""
    return ShardingTypeError(f"{message}: the operands are {types_text(avals)}", hint=hint)


def check_one_mesh(name: str, avals: Avals) -> None:
    """Raise ShardingTypeError if the operands' shardings have several meshes."""
    meshes = {a.explicit.mesh: a for a in avals if a.explicit is not None}
    if len(meshes) > 1:
        one, other = list(meshes)[:2]
        raise ambiguous(
            f"{name}: Mesh for all inputs should be equal. Got one mesh: {one} and another "
            f"mesh: {other}",
            avals,
        )


def check_context(name: str, avals: Avals, mesh: AnyMesh) -> None:
    """Raise ShardingError for an operand whose type is on another mesh than that of the context."""
    context = mesh.abstract_mesh
    for aval in avals:
        if aval.explicit is not None and aval.explicit.mesh != context:
            raise ShardingError(
                f"For primitive {name}, context mesh {context} should match the aval mesh "
                f"{aval.explicit.mesh} for shape {aval.long_name()}",
                hint="put the array on the mesh of the context, or leave the context",
            )


def with_specs(
    primitive: Primitive,
    avals: Avals,
    outs: Avals,
    specs: Sequence[Spec],
    pair: tuple[frozenset[Any], frozenset[Any]],
) -> tuple[ShapedArray, ...]:
    """Return the types of results with the shardings of their specs, on the operands' mesh.

    `pair` are the unreduced axes of each result, and the reduced ones. Raises ShardingTypeError for
    a spec that names an axis twice, or that does not divide a result.
    """
    like = next(a.explicit for a in avals if a.explicit is not None)
    typed = []
    for out, spec in zip(outs, specs, strict=True):
        names = [n for e in spec for n in entry_axes(e)]
        if len(set(names)) < len(names):
            text = shaped_text(out, spec)
            raise ShardingTypeError(
                f"{primitive.name} operation with inputs: {types_text(avals)} produces an "
                f"illegally sharded result: {text}",
                hint=_HINT,
            )
        own = like.spec
        if (own.partitions, own.unreduced, own.reduced) == (spec, *pair):
            sharding = like
        else:
            new = own.update(partitions=spec, unreduced=pair[0], reduced=pair[1])
            sharding = like.update(spec=new)
        sharding.check_shape(out.shape, f"the result of {primitive.name}")
        typed.append(out.with_sharding(sharding))
    return tuple(typed)


def entry_axes(entry: Any) -> tuple[Any, ...]:
    """Return the names of an entry."""
    return () if entry is None else entry if entry.__class__ is tuple else (entry,)


def entry_size(mesh: AnyMesh, entry: Any) -> int:
    """Return the number of parts that an entry splits a dimension into."""
    sizes = mesh.shape
    return math.prod([sizes[n] for n in entry_axes(entry)])


def replicated(primitive: Primitive, avals: Avals, outs: Avals) -> list[Spec]:
    """Return specs of unsplit results; raise ShardingTypeError if an operand is split.

    It is the rule of primitives that have none.
    """
    if any(e is not None for a in avals for e in spec_of(a)):
        raise ambiguous(
            f"sharding rule for {primitive.name} is not implemented (write the method "
            f"`sharding_rule` of {type(primitive).__module__}.{type(primitive).__qualname__})",
            avals,
            "call it in olympus.sharding.auto_axes(fun, out_sharding=...)",
        )
    return [(None,) * a.ndim for a in outs]


def broadcast_spec(name: str, avals: Avals) -> Spec:
    """Return the spec of a result of operands of equal ranks, whose sizes may be 1; scalars too."""
    arrays = [a for a in avals if a.shape]
    if not arrays:
        return ()
    entries = []
    specs = [spec_of(a) for a in arrays]
    for d in range(arrays[0].ndim):
        column = {s[d] for a, s in zip(arrays, specs, strict=True) if s[d] is not None}
        if len(column) > 1:
            raise ambiguous(
                f"{name} got incompatible shardings for broadcasting: {', '.join(map(str, specs))}",
                avals,
            )
        entries.append(next(iter(column), None))
    return tuple(entries)


def same(name: str, avals: Avals) -> Spec:
    """Return the common spec of operands; raise ShardingTypeError if they have several."""
    specs = {spec_of(a): a for a in avals if a.explicit is not None}
    if len(specs) > 1:
        term = _SAME.get(name, f"{name}: All operands should have the same sharding. Got shardings")
        raise ambiguous(f"{term} {', '.join(map(sharding_text, specs.values()))}", avals)
    return next(iter(specs), (None,) * avals[0].ndim)


def without(spec: Spec, axes: Iterable[int]) -> Spec:
    """Return a spec without the dimensions `axes`."""
    removed = frozenset(axes)
    return tuple([e for i, e in enumerate(spec) if i not in removed])


def inserted(spec: Spec, axis: int, entry: Any = None) -> Spec:
    """Return a spec with one more dimension."""
    return (*spec[:axis], entry, *spec[axis:])


def resized(name: str, x: ShapedArray, shape: Shape) -> Spec:
    """Return the spec of an array whose dimensions have other sizes, which its axes must divide."""
    spec = spec_of(x)
    if x.explicit is None:
        return spec
    for n, m, entry in zip(x.shape, shape, spec, strict=True):
        if n != m and entry is not None and m % entry_size(x.explicit.mesh, entry):
            raise ambiguous(
                f"{name} on sharded dims where out dim ({m}) is not divisible by mesh axes "
                f"({entry_size(x.explicit.mesh, entry)}) with spec ({entry}) is not implemented. "
                f"Got input type={x.short_name()} and output shape={tuple(shape)}",
                [x],
            )
    return spec


def batch_dimensions(name: str, avals: Avals, ranks: Sequence[int], outs: Avals) -> list[Spec]:
    """Return the specs of results of an operation on the last `ranks` dimensions of its operands.

    Those dimensions must not be split, and the specs of the others must be equal.
    """
    leading = []
    for i, (aval, rank) in enumerate(zip(avals, ranks, strict=True)):
        spec = spec_of(aval)
        if any(e is not None for e in spec[aval.ndim - rank :]):
            raise ambiguous(f"Input {i} to {name} must be unsharded on non-batch dimensions", avals)
        leading.append(spec[: aval.ndim - rank])
    if any(s != leading[0] for s in leading):
        raise ambiguous(f"All inputs to {name} must have the same batch sharding", avals)
    return [(*leading[0], *[None] * (a.ndim - len(leading[0]))) for a in outs]


def unsplit(
    name: str, aval: ShapedArray, axes: Iterable[int], avals: Avals, what: str = "dimensions"
) -> None:
    """Raise ShardingTypeError if one of the dimensions `axes`, which are the `what`, is split."""
    spec = spec_of(aval)
    if any(spec[d] is not None for d in axes):
        raise ambiguous(
            f"{name} operand cannot be sharded on the {what} {', '.join(map(str, axes))}", avals
        )


def unsplit_axis(name: str, avals: Avals, axis: int, message: str | None = None) -> Spec:
    """Return the common spec of operands that must not be split along `axis`.

    `message` is the error's message with the fields `type`, `sharding` and `axis`, if it has one of
    its own.
    """
    for aval in avals:
        if message is not None and spec_of(aval)[axis] is not None:
            given = {"type": aval.long_name(), "sharding": sharding_text(aval), "axis": axis}
            raise ambiguous(message.format_map(given), avals)
        unsplit(name, aval, (axis,), avals)
    return same(name, avals)
