"""The registries of rules under JAX's conventions, and the adaptation of each rule to the core's.

JAX's rules get a `Zero` where the core's get None, an `UndefinedPrimal` where they get a `Linear`,
and lists of values where they get one. A registry has the rules that users register; for another
primitive it returns the core's own rule, adapted in the other direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.ir.primitive import Batched, Linear, Primitive
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.flat import instantiate, zeros_of
from olympus_core.transforms.linearize import tangent_aval

Rule = Callable[..., Any]


class Zero:
    """A zero tangent or cotangent of a type, which is not computed with."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"

    def instantiate(self) -> Any:
        """Return an array of zeros."""
        return instantiate(None, self.aval)

    @classmethod
    def from_primal_value(cls, val: Any) -> Zero:
        """Return the zero tangent of a value."""
        return cls(tangent_aval(get_aval(val)))


class UndefinedPrimal:
    """An operand in which a transpose is taken: its type, without a value."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


class AxisData(NamedTuple):
    """A mapped axis: its name, None without one, and its size."""

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


def is_undefined_primal(x: Any) -> bool:
    """Return True if `x` is an operand in which a transpose is taken.

    >>> is_undefined_primal(1.0)
    False
    """
    return type(x) is UndefinedPrimal


def given(x: Any, aval: ShapedArray) -> Any:
    """Return a tangent or cotangent of the core as JAX's rules get it."""
    return Zero(aval) if x is None else x


def returned(x: Any) -> Any:
    """Return a tangent or cotangent that a rule of JAX returned as the core has it."""
    if x is None or type(x) is Zero or getattr(x, "dtype", None) == dtypes.float0:
        return None
    return x


def jvp_by(rule: Rule, primitive: Primitive) -> Rule:
    """Return the core's `jvp` by a rule of JAX."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        full = [given(t, tangent_aval(get_aval(x))) for x, t in zip(primals, tangents, strict=True)]
        out, tangent = rule(tuple(primals), tuple(full), **params)
        if primitive.multiple_results:
            return list(out), [returned(t) for t in tangent]
        return out, returned(tangent)

    return jvp


def jvp_of(primitive: Primitive) -> Rule:
    """Return JAX's rule by the core's `jvp`."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        known = [returned(t) for t in tangents]
        if all(t is None for t in known):
            out = primitive.bind(*primals, **params)
            tangent: Any = [None] * len(out) if primitive.multiple_results else None
        else:
            out, tangent = primitive.jvp(primals, known, **params)
        if primitive.multiple_results:
            return out, [
                given(t, tangent_aval(get_aval(x))) for x, t in zip(out, tangent, strict=True)
            ]
        return out, given(tangent, tangent_aval(get_aval(out)))

    return rule


def transpose_by(rule: Rule, primitive: Primitive) -> Rule:
    """Return the core's `transpose` by a rule of JAX."""

    def transpose(cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        avals = [x.aval if isinstance(x, Linear) else get_aval(x) for x in operands]
        results = primitive.out_avals(tuple(avals), params)
        if primitive.multiple_results:
            full: Any = [given(c, tangent_aval(a)) for c, a in zip(cotangent, results, strict=True)]
        else:
            full = given(cotangent, tangent_aval(results[0]))
        arguments = [UndefinedPrimal(x.aval) if isinstance(x, Linear) else x for x in operands]
        out = rule(full, *arguments, **params)
        shares = [None] * len(operands) if out is None else map(returned, out)
        return [
            share if isinstance(x, Linear) else None
            for share, x in zip(shares, operands, strict=True)
        ]

    return transpose


def transpose_of(primitive: Primitive) -> Rule:
    """Return JAX's rule by the core's `transpose`."""

    def rule(cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        several = primitive.multiple_results
        known: Any = list(map(returned, cotangent)) if several else returned(cotangent)
        arguments = [Linear(x.aval) if is_undefined_primal(x) else x for x in operands]
        return list(primitive.transpose(known, *arguments, **params))

    return rule


def batch_by(rule: Rule, primitive: Primitive) -> Rule:
    """Return the core's `batch` by a rule of JAX that takes an AxisData first."""

    def batch(
        batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        out, out_dims = rule(
            AxisData(batched.name, batched.size), tuple(args), tuple(dims), **params
        )
        if primitive.multiple_results:
            out = list(out)
            every = out_dims if isinstance(out_dims, tuple | list) else [out_dims] * len(out)
            return out, [_dim(x, d) for x, d in zip(out, every, strict=True)]
        return out, _dim(out, out_dims)

    return batch


def _dim(x: Any, dim: Any) -> int | None:
    """Return the place of a mapped axis, also of one that is counted from the end."""
    return None if dim is None else int(dim) % get_aval(x).ndim


def batch_of(primitive: Primitive) -> Rule:
    """Return JAX's rule, which takes an AxisData first, by the core's `batch`."""

    def rule(axis: AxisData, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        if all(d is None for d in dims):
            out = primitive.bind(*args, **params)
            return out, [None] * len(out) if primitive.multiple_results else None
        return primitive.batch(Batched(axis.size, axis.name), args, dims, **params)

    return rule


def sized(args: Sequence[Any], dims: Sequence[Any]) -> AxisData:
    """Return the mapped axis of operands, without a name."""
    return AxisData(
        None, next(get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    )


class Registry(MutableMapping[Primitive, Rule]):
    """The rules of one kind by primitive.

    `method` is that of the core, `by` makes it from a rule of JAX, and `of` a rule from it. A rule
    that is set for a primitive of the core replaces its method.
    """

    def __init__(
        self, method: str, by: Callable[[Rule, Primitive], Rule], of: Callable[[Primitive], Rule]
    ) -> None:
        self._method, self._by, self._of = method, by, of
        self._rules: dict[Primitive, Rule] = {}

    def __getitem__(self, primitive: Primitive) -> Rule:
        if primitive in self._rules:
            return self._rules[primitive]
        if not self._has_own(primitive):
            raise KeyError(primitive)
        return self._of(primitive)

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        self._rules[primitive] = rule
        setattr(primitive, self._method, self._by(rule, primitive))

    def __delitem__(self, primitive: Primitive) -> None:
        del self._rules[primitive]
        delattr(primitive, self._method)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, primitive: object) -> bool:
        return primitive in self._rules or (
            isinstance(primitive, Primitive) and self._has_own(primitive)
        )

    def _has_own(self, primitive: Primitive) -> bool:
        """Return True if the class of a primitive has the method."""
        return getattr(type(primitive), self._method) is not getattr(Primitive, self._method)


primitive_jvps = Registry("jvp", jvp_by, jvp_of)
primitive_transposes = Registry("transpose", transpose_by, transpose_of)
fancy_primitive_batchers = Registry("batch", batch_by, batch_of)


def zeros_like_aval(aval: ShapedArray) -> Any:
    """Return an array of zeros of a type.

    >>> zeros_like_aval(ShapedArray((2,), np.float32))
    Array([0., 0.], dtype=float32)
    """
    return zeros_of(aval)


def front(x: Any, dim: int | None, size: int) -> Any:
    """Return an operand with its mapped axis in front, repeated along it if it has none."""
    return place_axis(x, dim, 0, size)


def dims_of(value: Any) -> int:
    """Return the number of axes of an array or a scalar."""
    return np.ndim(value) if not hasattr(value, "ndim") else int(value.ndim)
