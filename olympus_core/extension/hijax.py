"""`olympus.experimental.hijax`: operations of users as classes, whose methods are their rules.

An operation is on trees of arrays. Its method `expand` computes it by other operations; derivatives
and `vmap` have rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ArgumentError, UndefinedRuleError, UnsupportedError
from olympus_core.control.custom_vjp import custom_vjp
from olympus_core.extension.lowering_context import lower_by
from olympus_core.extension.lowering_rules import lower_fun
from olympus_core.extension.rules import (
    AxisData,
    Zero,
    given,
    primitive_jvps,
    primitive_transposes,
    returned,
)
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.ir.primitive import Batched, Linear, op
from olympus_core.ir.trace import current_trace
from olympus_core.transforms.autodiff import jvp, linear_transpose
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.jvp import JVPTrace, JVPTracer
from olympus_core.transforms.linearize import tangent_aval
from olympus_core.transforms.vmapping import vmap


def _is_none(x: Any) -> bool:
    return x is None


class GradAccum:
    """A place that adds up the cotangents of one array, of the type `aval`."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def accum(self, x: Any) -> None:
        """Add a cotangent, which may be a Zero."""
        raise UnsupportedError(f"subclass {type(self)} must implement `accum`")


class ValAccum(GradAccum):
    """A sum of cotangents as a value.

    >>> total = ValAccum(typeof(1.0))
    >>> total.accum(2.0)
    >>> total.accum(3.0)
    >>> total.freeze()
    Array(5., dtype=float32, weak_type=True)
    """

    def __init__(self, aval: ShapedArray, val: Any = None) -> None:
        super().__init__(aval)
        self.val = val

    def accum(self, x: Any) -> None:
        """Add a cotangent, which may be a Zero."""
        if x is not None and type(x) is not Zero:
            self.val = x if self.val is None else op.add_any(self.val, x)

    def freeze(self) -> Any:
        """Return the sum; a Zero if no cotangent was added."""
        return Zero(self.aval) if self.val is None else self.val


class RefAccum(GradAccum):
    """A sum of cotangents in a mutable reference.

    >>> total = RefAccum(typeof(1.0), new_ref(1.0))
    >>> total.accum(2.0)
    >>> total.freeze()
    Array(3., dtype=float32, weak_type=True)
    """

    def __init__(self, aval: ShapedArray, ref: Any) -> None:
        super().__init__(aval)
        self.ref = ref

    def accum(self, x: Any) -> None:
        """Add a cotangent, which may be a Zero, to the value of the reference."""
        if x is not None and type(x) is not Zero:
            self.ref[...] = op.add(self.ref[...], x)

    def freeze(self) -> Any:
        """Return the value of the reference."""
        return self.ref[...]


class NullAccum(GradAccum):
    """A place for cotangents that are not needed: it drops them.

    >>> NullAccum(typeof(1.0)).accum(2.0)
    """

    def accum(self, x: Any) -> None:
        """Drop a cotangent."""


def _must_implement(prim: HiPrim, purpose: str, *methods: str) -> UnsupportedError:
    names = " and ".join(f"`{name}`" for name in methods)
    return UnsupportedError(f"for {purpose} support, subclass {type(prim)} must implement {names}")


class HiPrim:
    """An operation of a user; a subclass sets `in_avals`, `out_aval` and `params`, and has rules.

    in_avals: the tuple of the types of the arguments, trees. out_aval: the type of the result, a
    tree. params: the parameters by name, hashable, which become attributes. The rules are methods;
    a missing one raises UnsupportedError that names it.

    >>> class Square(HiPrim):
    ...     def __init__(self, aval):
    ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return x * x
    >>> Square(typeof(3.0))(3.0)
    Array(9., dtype=float32, weak_type=True)
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Hashable]
    effects: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise UndefinedRuleError(f"subclass __init__ should set `self.{name}`")
        both = ("vjp_bwd", "vjp_bwd_retval")
        if all(_overrides(self, name) for name in both):
            raise UndefinedRuleError(
                f"subclass {type(self)} should not override both `vjp_bwd` and `vjp_bwd_retval`"
            )
        self.in_avals_flat, self.in_tree = tree.flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = tree.flatten(self.out_aval)
        self.__dict__.update(self.params)
        self.check(*self.in_avals)

    def check(self, *arg_tys: Any) -> None:
        """Check the types of the arguments; a subclass may raise an error."""

    def expand(self, *args: Any) -> Any:
        """Return the result, computed by other operations."""
        raise UnsupportedError(f"subclass {type(self)} must implement `expand`")

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """Return the result and its tangent; a tangent may be a Zero."""
        raise _must_implement(self, "jvp", "jvp")

    def lin(self, nzs_in: Any, *primals: Any) -> Any:
        """Return the result, and the values that `linearized` needs."""
        raise _must_implement(self, "linearize", "lin", "linearized")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """Return the tangent of the result."""
        raise _must_implement(self, "linearize", "lin", "linearized")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """Return the result, and the values that the backward pass needs.

        nzs_in: for each argument array, True if its cotangent is needed.
        """
        raise _must_implement(self, "grad", "vjp_fwd")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Add the cotangents of the arguments to `arg_accums`, trees of GradAccum."""
        cotangents = self.vjp_bwd_retval(res, outgrad)
        tree.map(lambda total, x: total.accum(x), tuple(arg_accums), tuple(cotangents))

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """Return the cotangents of the arguments, a tuple; each may be a Zero."""
        raise _must_implement(self, "grad", "vjp_bwd", "vjp_bwd_retval")

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        """Add the cotangents of the linear arguments, which are GradAccum, to them."""
        raise _must_implement(self, "transpose", "transpose")

    def batch(self, axis_data: AxisData, args: Any, dims: Any) -> tuple[Any, Any]:
        """Return the result for mapped arguments, and its mapped axes."""
        raise _must_implement(self, "vmap", "batch")

    def __call__(self, *args: Any) -> Any:
        """Apply the operation to arguments of the types `in_avals`."""
        leaves = tree.leaves(args)
        if tree.structure(args) != self.in_tree:
            raise ArgumentError(
                f"{self!r} needs arguments of the structure {self.in_tree}, and got "
                f"{tree.structure(args)}"
            )
        return self.out_tree.unflatten(call_hi_primitive_p.bind(*leaves, _prim=self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.params}]"

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self.in_avals_flat)))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (self.params, self.in_avals_flat) == (
            other.params,
            other.in_avals_flat,
        )


def _overrides(prim: HiPrim, name: str) -> bool:
    """Return True if an operation has a rule of its own; a mapped one uses its operation's."""
    while isinstance(prim, _Mapped) and name in ("jvp", "vjp_fwd"):
        prim = prim.prim
    return getattr(type(prim), name) not in (
        getattr(HiPrim, name, None),
        getattr(VJPHiPrimitive, name, None),
    )


class VJPHiPrimitive(HiPrim):
    """An operation of a user as `HiPrim`, mapped by `expand` if it has a `batch_dim_rule`.

    >>> class Double(VJPHiPrimitive):
    ...     def __init__(self, aval):
    ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return x * 2
    ...     def vjp_fwd(self, nzs_in, x):
    ...         return self(x), None
    ...     def vjp_bwd_retval(self, res, g):
    ...         return (g * 2,)
    >>> grad(Double(typeof(3.0)))(3.0)
    Array(2., dtype=float32, weak_type=True)
    """

    def batch(self, axis_data: AxisData, args: Any, dims: Any) -> tuple[Any, Any]:
        """Return the result for mapped arguments, and its mapped axes: a loop over the axis."""
        out_dim = self.batch_dim_rule(axis_data, dims)
        return _Mapped(self, axis_data, dims, out_dim)(*args), out_dim

    def batch_dim_rule(self, axis_data: AxisData, dims: Any, /) -> Any:
        """Return the mapped axes of the result for those of the arguments."""
        raise _must_implement(self, "vmap", "batch", "batch_dim_rule")


class _Mapped(VJPHiPrimitive):
    """Another operation along a mapped axis of its arguments."""

    prim: VJPHiPrimitive
    axis_data: AxisData
    in_dims: Any
    out_dim: Any

    def __init__(
        self, prim: VJPHiPrimitive, axis_data: AxisData, in_dims: Any, out_dim: Any
    ) -> None:
        self.in_avals = unmap_avals(axis_data, prim.in_avals, in_dims)
        self.out_aval = unmap_avals(axis_data, prim.out_aval, out_dim)
        self.params = {
            "prim": prim,
            "axis_data": axis_data,
            "in_dims": in_dims,
            "out_dim": out_dim,
        }
        super().__init__()

    def _mapped(self, fun: Callable[..., Any], in_axes: Any, out_axes: Any) -> Callable[..., Any]:
        return vmap_rule(self.axis_data, fun, in_axes, out_axes)

    def expand(self, *args: Any) -> Any:
        return self._mapped(self.prim.expand, self.in_dims, self.out_dim)(*args)

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        if not _overrides(self.prim, "jvp"):
            raise _must_implement(self.prim, "jvp", "jvp")
        axes = (self.in_dims, self.in_dims), (self.out_dim, self.out_dim)
        outs: tuple[Any, Any] = self._mapped(self.prim.jvp, *axes)(primals, _instantiated(tangents))
        return outs

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        def forward(*values: Any) -> tuple[Any, Any]:
            out, res, *_ = self.prim.vjp_fwd(nzs_in, *values)
            return out, res

        return self._mapped(forward, self.in_dims, (self.out_dim, 0))(*args)

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        def backward(saved: Any, ct: Any) -> tuple[Any, ...]:
            found = _cotangents(self.prim, saved, ct, [True] * len(self.prim.in_avals_flat))
            return tuple(found)

        dims = self.in_tree.flatten_up_to(self.in_dims)
        fronts = tuple([0 if d is None else d for d in dims])
        found = self._mapped(backward, (0, self.out_dim), fronts)(res, outgrad)
        summed = [x.sum(axis=0) if d is None else x for x, d in zip(found, dims, strict=True)]
        return self.in_tree.unflatten(summed)

    def batch_dim_rule(self, axis_data: AxisData, dims: Any, /) -> Any:
        def inner(d: Any, own: Any) -> Any:
            return d if d is None or own is None else d - (own < d)

        inner_dims = tree.map(inner, dims, self.in_dims, is_leaf=_is_none)
        out = self.prim.batch_dim_rule(axis_data, inner_dims)
        return tree.map(lambda d, own: d + (own <= d), out, self.out_dim)


def _instantiated(tangents: Any) -> Any:
    return tree.map(
        lambda t: t.instantiate() if type(t) is Zero else t,
        tangents,
        is_leaf=lambda t: type(t) is Zero,
    )


def unmap_avals(axis_data: AxisData, avals: Any, dims: Any) -> Any:
    """Return the types of arrays with a mapped axis at each of `dims`, none where it is None.

    >>> from olympus_core.extension.rules import AxisData
    >>> axis = AxisData(None, 5)
    >>> unmap_avals(axis, (typeof(numpy.ones(3)),), (0,))
    (ShapedArray(float32[5,3]),)
    """

    def unmapped(aval: ShapedArray, d: int | None) -> ShapedArray:
        if d is None:
            return aval
        return aval.update(shape=(*aval.shape[:d], axis_data.size, *aval.shape[d:]))

    leaves, treedef = tree.flatten(avals)
    places = tree.leaves(dims, is_leaf=_is_none)
    return treedef.unflatten([unmapped(a, d) for a, d in zip(leaves, places, strict=True)])


def bdims_at_front(axis_data: AxisData, args: Any, dims: Any) -> Any:
    """Return arrays with their mapped axis first; an array without one is repeated.

    >>> from olympus_core.extension.rules import AxisData
    >>> axis = AxisData(None, 5)
    >>> bdims_at_front(axis, (numpy.ones((3, 5)),), (1,))[0].shape
    (5, 3)
    """
    leaves, treedef = tree.flatten(args)
    places = tree.leaves(dims, is_leaf=_is_none)
    return treedef.unflatten(
        [place_axis(x, d, 0, axis_data.size) for x, d in zip(leaves, places, strict=True)]
    )


def vmap_rule(
    axis_data: AxisData, f: Callable[..., Any], in_axes: Any, out_axes: Any
) -> Callable[..., Any]:
    """Return `f` mapped along an axis, as a rule `batch` needs it.

    >>> from olympus_core.extension.rules import AxisData
    >>> axis = AxisData(None, 3)
    >>> vmap_rule(axis, lambda x: x * 2, (0,), 0)(numpy.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    return vmap(
        f, in_axes=in_axes, out_axes=out_axes, axis_size=axis_data.size, axis_name=axis_data.name
    )


def jvp_from_lin(self: HiPrim, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return the result and its tangent by the rules `lin` and `linearized`: a rule `jvp`.

    >>> class Own(HiPrim):
    ...     jvp = jvp_from_lin
    """
    out, res, *_ = self.lin(tree.map(lambda _: True, primals), *primals)
    return out, self.linearized(res, *_instantiated(tangents))


def _lin_from_jvp(self: HiPrim, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
    return self(*primals), primals


def _linearized_from_jvp(self: HiPrim, residuals: Any, *tangents: Any) -> Any:
    return self.jvp(residuals, tangents)[1]


def _transposed(self: HiPrim, linear: Callable[..., Any], outgrad: Any) -> Any:
    """Return the cotangents of the arguments by the transpose of a function of tangents."""
    avals = [tangent_aval(a) for a in self.in_avals_flat]

    def flat(*tangents: Any) -> Any:
        return _instantiated(linear(*self.in_tree.unflatten(tangents)))

    found = linear_transpose(flat, *avals)(_instantiated(outgrad))
    return self.in_tree.unflatten(found)


def _fwd_from_jvp(self: HiPrim, nzs_in: Any, /, *args: Any) -> tuple[Any, Any]:
    return self(*args), args


def _bwd_from_jvp(self: HiPrim, res: Any, outgrad: Any, /) -> Any:
    return _transposed(self, lambda *tangents: self.jvp(res, tangents)[1], outgrad)


def _fwd_from_lin(self: HiPrim, nzs_in: Any, /, *args: Any) -> Any:
    out, res, *_ = self.lin(nzs_in, *args)
    return out, res


def _bwd_from_lin(self: HiPrim, res: Any, outgrad: Any, /) -> Any:
    return _transposed(self, lambda *tangents: self.linearized(res, *tangents), outgrad)


class _RulePair(NamedTuple):
    """Two rules that a class body assigns to the two names of a pair of methods."""

    first: Callable[..., Any]
    second: Callable[..., Any]


#: the rules `lin` and `linearized` by `jvp`
linearize_from_jvp = _RulePair(_lin_from_jvp, _linearized_from_jvp)
#: the rules `vjp_fwd` and `vjp_bwd_retval` by `jvp`
vjp_from_jvp = _RulePair(_fwd_from_jvp, _bwd_from_jvp)
#: the rules `vjp_fwd` and `vjp_bwd_retval` by `lin` and `linearized`
vjp_from_lin = _RulePair(_fwd_from_lin, _bwd_from_lin)


def _cotangents(prim: HiPrim, res: Any, outgrad: Any, needed: Sequence[bool]) -> list[Any]:
    """Return the cotangents of the argument arrays, zeros where `needed` is False."""
    avals = [tangent_aval(a) for a in prim.in_avals_flat]
    totals = [ValAccum(a) if n else NullAccum(a) for a, n in zip(avals, needed, strict=True)]
    if _overrides(prim, "vjp_bwd"):
        prim.vjp_bwd(res, outgrad, *prim.in_tree.unflatten(totals))
    else:
        found = prim.in_tree.flatten_up_to(tuple(prim.vjp_bwd_retval(res, outgrad)))
        for total, x in zip(totals, found, strict=True):
            total.accum(x)
    frozen = [t.freeze() if isinstance(t, ValAccum) else Zero(t.aval) for t in totals]
    return [x.instantiate() if type(x) is Zero else x for x in frozen]


class _HiCall(UserPrimitive):
    """The call of a HiPrim on flat arrays, whose parameter `_prim` it is."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.multiple_results = True

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the operation; in reverse mode by its rules `vjp_fwd` and `vjp_bwd`."""
        trace, prim = current_trace(), params["_prim"]
        if isinstance(trace, JVPTrace) and trace.linear and _overrides(prim, "vjp_fwd"):
            needed = [isinstance(x, JVPTracer) and x.owner is trace for x in args]
            if any(needed):
                return list(self._reverse(prim, needed)(*args))
        return super().bind(*args, **params)

    def _flat(self, prim: HiPrim) -> Callable[..., list[Any]]:
        def flat(*args: Any) -> list[Any]:
            outs = prim.expand(*prim.in_tree.unflatten(args))
            leaves: list[Any] = prim.out_tree.flatten_up_to(outs)
            return leaves

        return flat

    def _reverse(self, prim: HiPrim, needed: Sequence[bool]) -> Callable[..., Any]:
        """Return the function of flat arrays with the reverse rules of an operation."""
        nzs = prim.in_tree.unflatten(needed)

        def call(*args: Any) -> list[Any]:
            return list(self.bind(*args, _prim=prim))

        def forward(*args: Any) -> tuple[list[Any], Any]:
            out, res, *_ = prim.vjp_fwd(nzs, *prim.in_tree.unflatten(args))
            return prim.out_tree.flatten_up_to(out), res

        def backward(res: Any, cotangents: Sequence[Any]) -> tuple[Any, ...]:
            outgrad = prim.out_tree.unflatten(cotangents)
            return tuple(_cotangents(prim, res, outgrad, needed))

        function = custom_vjp(call)
        function.defvjp(forward, backward)
        return function

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        return list(params["_prim"].out_avals_flat), params["_prim"].effects

    def impl(self, *args: Any, **params: Any) -> Any:
        return self._flat(params["_prim"])(*args)

    def lower(self, ctx: Any, *operands: Any, **params: Any) -> Any:
        rule = lower_fun(self._flat(params["_prim"]), True)
        return lower_by(lambda c, *args, **_: rule(c, *args), self, ctx, operands, params)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        prim: HiPrim = params["_prim"]
        has_forward = _overrides(prim, "jvp") or _overrides(prim, "lin")
        if not has_forward and _overrides(prim, "vjp_fwd"):
            return self._tangents_in_reverse(prim, primals, tangents)
        args = prim.in_tree.unflatten(primals)
        full = [given(t, tangent_aval(get_aval(x))) for x, t in zip(primals, tangents, strict=True)]
        changes = prim.in_tree.unflatten(full)
        if not _overrides(prim, "jvp") and _overrides(prim, "lin"):
            out, tangent = jvp_from_lin(prim, args, changes)
        else:
            out, tangent = prim.jvp(args, changes)
        found = [returned(t) for t in prim.out_tree.flatten_up_to(tangent)]
        return prim.out_tree.flatten_up_to(out), found

    def _tangents_in_reverse(
        self, prim: HiPrim, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Any, Any]:
        """Return the results and their tangents, which are only differentiated in reverse."""
        moving = [i for i, t in enumerate(tangents) if t is not None]
        function = self._reverse(prim, [t is not None for t in tangents])

        def of_moving(*some: Any) -> list[Any]:
            values = list(primals)
            for i, x in zip(moving, some, strict=True):
                values[i] = x
            return list(function(*values))

        outs, changes = jvp(of_moving, [primals[i] for i in moving], [tangents[i] for i in moving])
        return outs, [returned(t) for t in changes]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        prim: HiPrim = params["_prim"]
        totals = [ValAccum(tangent_aval(x.aval)) if isinstance(x, Linear) else x for x in operands]
        full = [
            given(c, tangent_aval(a)) for c, a in zip(cotangent, prim.out_avals_flat, strict=True)
        ]
        prim.transpose(prim.out_tree.unflatten(full), *prim.in_tree.unflatten(totals))
        return [returned(t.freeze()) if isinstance(t, ValAccum) else None for t in totals]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        prim: HiPrim = params["_prim"]
        axis = AxisData(batched.name, batched.size, batched.spmd)
        out, out_dims = prim.batch(axis, prim.in_tree.unflatten(args), prim.in_tree.unflatten(dims))
        leaves = prim.out_tree.flatten_up_to(out)
        places = tree.prefix_leaves("batch", "dims", out_dims, prim.out_tree.unflatten(leaves))
        return leaves, places


call_hi_primitive_p = _HiCall("call_hi_primitive")


class HiPrimitive(UserPrimitive):
    """An operation of a user as a primitive, whose methods are its rules in JAX's conventions.

    `abstract_eval` returns the type of the result, or a list, and the effects; `to_lojax` computes
    the result by other operations; `jvp` and `transpose` are the rules of derivatives, in which a
    zero is a Zero.

    >>> class Double(HiPrimitive):
    ...     def abstract_eval(self, x):
    ...         return x, set()
    ...     def to_lojax(self, x):
    ...         return x + x
    >>> Double("double").bind(3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        own = type(self)
        if own.jvp is not HiPrimitive.jvp:
            primitive_jvps[self] = self.jvp
        if own.transpose is not HiPrimitive.transpose:
            primitive_transposes[self] = self.transpose

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        """Return the result, computed by other operations."""
        raise UnsupportedError(f"subclass {type(self)} must implement `to_lojax`")

    def impl(self, *args: Any, **params: Any) -> Any:
        """Return the result for concrete values."""
        return self.to_lojax(*args, **params)

    def lower(self, ctx: Any, *operands: Any, **params: Any) -> Any:
        rule = lower_fun(self.to_lojax, self.multiple_results)
        outs = lower_by(rule, self, ctx, operands, params)
        return outs if self.multiple_results else outs[0]
