"""`custom_jvp`: a function with a forward derivative that its author wrote."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core import trace, tree
from olympus_core.avals import ShapedArray, get_aval
from olympus_core.control.bodies import stage_body
from olympus_core.control.call import InlineCall
from olympus_core.control.custom_rules import (
    bind_positions,
    check_closure,
    check_types,
    part_static,
    positions,
)
from olympus_core.errors import TransformError
from olympus_core.primitive import Batched, Split, op
from olympus_core.source import function_name
from olympus_core.transforms import data
from olympus_core.transforms.batching import batch_flat, place_axis
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.linearize import tangent_aval
from olympus_core.transforms.programs import batch_program

__all__ = ["SymbolicZero", "custom_jvp"]


class SymbolicZero:
    """A tangent that is zero, as rules with `symbolic_zeros=True` get it."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return self.aval.dtype


class _Rule:
    """A user's rule on flat lists: (primals, tangents or None) -> (results, their tangents)."""

    def __init__(
        self,
        rule: Callable[..., Any],
        name: str,
        static: tuple[Any, ...],
        trees: tuple[tree.PyTreeDef, tree.PyTreeDef],
        out_avals: Sequence[ShapedArray],
        symbolic: bool,
    ) -> None:
        self.rule = rule
        self.name = name
        self.static = static
        self.in_tree, self.out_tree = trees
        self.out_avals = list(out_avals)
        self.symbolic = symbolic

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        avals = [get_aval(x) for x in primals]
        given = [
            SymbolicZero(a) if t is None and self.symbolic else instantiate(t, tangent_aval(a))
            for t, a in zip(tangents, avals, strict=True)
        ]
        result = self.rule(
            *self.static, self.in_tree.unflatten(primals), self.in_tree.unflatten(given)
        )
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TransformError(
                f"the jvp rule of '{self.name}' must return a pair (result, tangent of the "
                f"result), and returned {type(result).__name__}"
            )
        outs, out_tree = data.flatten(result[0])
        out_tangents, tangent_tree = tree.flatten(result[1], lambda x: isinstance(x, SymbolicZero))
        if out_tree != self.out_tree or tangent_tree != self.out_tree:
            raise TransformError(
                f"the jvp rule of '{self.name}' must return the result's structure twice.\n"
                f"  '{self.name}' returns: {self.out_tree}\n  the rule's result: {out_tree}\n"
                f"  the rule's tangent: {tangent_tree}"
            )
        check_types(self.name, "jvp rule", outs, self.out_avals)
        return outs, [self._tangent(x, t) for x, t in zip(outs, out_tangents, strict=True)]

    def _tangent(self, x: Any, t: Any) -> Any:
        if isinstance(t, SymbolicZero):
            return None
        have, want = get_aval(t), tangent_aval(get_aval(x))
        if getattr(t, "dtype", None) is not None and t.dtype.names:
            return None  # float0, of an integer result
        if have.shape != want.shape or have.dtype != want.dtype:
            raise TransformError(
                f"the jvp rule of '{self.name}' returned a tangent {have.long_name()} for a "
                f"result {want.long_name()}"
            )
        return t


class _MappedRule:
    """A rule mapped over an axis of its operands."""

    def __init__(
        self, rule: Any, batched: Batched, dims: Sequence[int | None], out_dims: Sequence[Any]
    ) -> None:
        self.rule, self.batched = rule, batched
        self.dims, self.out_dims = tuple(dims), tuple(out_dims)

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        active = [t is not None for t in tangents]
        n = len(primals)
        made: list[bool] = []

        def flat(*args: Any) -> list[Any]:
            given = iter(args[n:])
            outs, ts = self.rule(args[:n], [next(given) if a else None for a in active])
            made.extend(t is not None for t in ts)
            return [*outs, *(t for t in ts if t is not None)]

        values = [*primals, *(t for t in tangents if t is not None)]
        tangent_dims = [d for d, a in zip(self.dims, active, strict=True) if a]
        outs, dims = batch_flat(flat, self.batched, values, [*self.dims, *tangent_dims])
        count = len(self.out_dims)
        wanted = [*self.out_dims, *(d for d, m in zip(self.out_dims, made, strict=True) if m)]
        placed = [
            place_axis(x, d, w, self.batched.size)
            for x, d, w in zip(outs, dims, wanted, strict=True)
        ]
        rest = iter(placed[count:])
        return placed[:count], [next(rest) if m else None for m in made]


class CustomJVPCall(InlineCall):
    """Runs `olympuspr`; differentiated forward by `rule`, a function of flat lists.

    The first `num_consts` operands are what the function closes over, and have no derivative.
    """

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        n = params["num_consts"]
        check_closure(params["name"], tangents[:n])
        outs, out_tangents = params["rule"](primals[n:], tangents[n:])
        return outs, out_tangents

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        everything = (True,) * len(params["olympuspr"].outvars)
        program, out_dims = batch_program(params["olympuspr"], batched, tuple(dims), everything)
        rule = _MappedRule(params["rule"], batched, dims[params["num_consts"] :], out_dims)
        return self.bind(*args, **(params | {"olympuspr": program, "rule": rule})), out_dims

    def split(self, unknown: tuple[bool, ...], **params: Any) -> Split | None:
        return None


custom_jvp_call_p = CustomJVPCall("custom_jvp_call")


class custom_jvp:
    """A function whose forward derivative is given by `defjvp` or `defjvps`.

    `nondiff_argnums` are positions of arguments that are passed to the rule as they are, first.

    >>> @custom_jvp
    ... def f(x): return x * x
    >>> @f.defjvp
    ... def _(primals, tangents): return f(*primals), 2 * primals[0] * tangents[0]
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = positions("nondiff_argnums", nondiff_argnums)
        self.rule: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: (primals, tangents) -> (result, its tangent), as tuples and trees."""
        self.rule = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: (tangent, result, *primals) -> its share, or None."""
        if self.nondiff_argnums:
            raise TransformError("defjvps does not go with nondiff_argnums; use defjvp")

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
            out = self(*primals)
            shares = [j(t, out, *primals) for j, t in zip(jvps, tangents, strict=True) if j]
            if not shares:
                return out, tree.map(lambda x: instantiate(None, tangent_aval(get_aval(x))), out)
            add = functools.partial(functools.reduce, op.add)
            return out, tree.map(lambda *xs: add(xs), *shares)

        self.defjvp(rule)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.rule is None:
            raise TransformError(
                f"no derivative is defined for '{function_name(self.fun)}': call its defjvp"
            )
        if trace.at_base():
            return self.fun(*args, **kwargs)
        positional = bind_positions(self.fun, args, kwargs)
        fun, diff, static = part_static(
            "nondiff_argnums", self.fun, positional, self.nondiff_argnums
        )
        leaves, in_tree = data.flatten(diff)
        avals = [get_aval(x) for x in leaves]
        body = stage_body(fun, in_tree, avals, "a function with a rule of its own")
        name = function_name(self.fun)
        trees = in_tree, body.out_tree
        rule = _Rule(self.rule, name, static, trees, body.out_avals, self.symbolic_zeros)
        outs = custom_jvp_call_p.bind(
            *body.consts,
            *leaves,
            name=name,
            num_consts=len(body.consts),
            olympuspr=body.program,
            rule=rule,
        )
        return body.out_tree.unflatten(outs)
