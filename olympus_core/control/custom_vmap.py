"""`custom_vmap`: a function whose mapped form its author wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from olympus_core.base import source, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError, UndefinedRuleError
from olympus_core.base.source import function_name, look_like
from olympus_core.control.bodies import stage_body
from olympus_core.control.call import InlineCall
from olympus_core.control.custom_rules import WithSetters, bind_positions
from olympus_core.ir.primitive import Batched, TangentSplit, op
from olympus_core.transforms import data
from olympus_core.transforms.batching import batch_flat, place_axis
from olympus_core.transforms.flat import zeros_of
from olympus_core.transforms.jvp import jvp_flat
from olympus_core.transforms.linearize import tangent_aval
from olympus_core.transforms.programs import batch_program, jvp_program

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Rule = TypeVar("_Rule", bound=Callable[..., Any])


class FlatVmapRule(Protocol):
    """A rule on flat lists."""

    #: the function cannot be mapped without the rule
    is_only: bool

    def apply(
        self, size: int, mapped: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        """Return the results, and for each if it is mapped at axis 0, as `mapped` values are."""


class UserRule:
    """The rule that a user wrote, with the structures of its arguments and of its result."""

    def __init__(
        self,
        rule: Callable[..., Any],
        in_tree: tree.PyTreeDef,
        out_tree: tree.PyTreeDef,
        is_only: bool,
    ) -> None:
        self.rule, self.in_tree, self.out_tree = rule, in_tree, out_tree
        self.is_only = is_only

    def apply(
        self, size: int, mapped: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        """Return the user's results; raise TransformError for a result of another structure."""
        name = function_name(self.rule)
        arguments = self.in_tree.unflatten(values)
        result = source.call_rule(self.rule, size, list(self.in_tree.unflatten(mapped)), *arguments)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TransformError(
                f"the vmap rule '{name}' must return a pair (result, which parts are mapped)"
            )
        outs, out_tree = data.flatten_data(result[0])
        out_mapped, mapped_tree = tree.flatten(result[1])
        if out_tree != mapped_tree:
            raise TransformError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({name}) do not match.\n  result: {out_tree}\n  mapped: {mapped_tree}"
            )
        if out_tree != self.out_tree:
            raise TransformError(
                f"structure of output returned by custom vmap rule ({name}) does not match that of "
                f"original custom-vmapped function.\n  function: {self.out_tree}\n"
                f"  rule:     {out_tree}"
            )
        return outs, [bool(m) for m in out_mapped]


class DualRule:
    """The rule of the values and the tangents of a function with a rule.

    The tangents are those of the `active` operands; a zero tangent is mapped as its value is.
    Where only one of the two is mapped, the rule is applied to each of the values along the axis.
    """

    def __init__(self, rule: FlatVmapRule, active: tuple[bool, ...]) -> None:
        self.rule, self.active, self.is_only = rule, active, rule.is_only

    def apply(
        self, size: int, mapped: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        """Return the results and then their tangents."""
        count = len(self.active)
        primals, given = list(values[:count]), iter(values[count:])
        given_mapped = iter(mapped[count:])
        tangents = [next(given) if a else None for a in self.active]
        tangent_mapped = [
            next(given_mapped) if a else m for a, m in zip(self.active, mapped, strict=False)
        ]
        both = [p and t for p, t in zip(mapped, tangent_mapped, strict=False)]
        one = [p != t for p, t in zip(mapped, tangent_mapped, strict=False)]
        if (any(both) or self.is_only) and any(one):  # the rule has one axis for all
            either = [b or o for b, o in zip(both, one, strict=True)]
            primals = [
                place_axis(x, 0 if m else None, 0 if e else None, size)
                for x, m, e in zip(primals, mapped, either, strict=False)
            ]
            tangents = [
                None if t is None else place_axis(t, 0 if m else None, 0 if e else None, size)
                for t, m, e in zip(tangents, tangent_mapped, either, strict=True)
            ]
            both, one = either, [False] * count
        if not any(one):
            return self._dual(size, both, primals, tangents)
        flat = [*primals, *(t for t in tangents if t is not None)]
        dims = [
            0 if o and m else None
            for o, m in [
                *zip(one, mapped, strict=False),
                *((o, m) for o, m, a in zip(one, tangent_mapped, self.active, strict=True) if a),
            ]
        ]

        def each(*xs: Any) -> list[Any]:
            rest = iter(xs[count:])
            ts = [next(rest) if a else None for a in self.active]
            outs, out_mapped = self._dual(size, both, xs[:count], ts)
            return [_first(x) if m else x for x, m in zip(outs, out_mapped, strict=True)]

        outs, out_dims = batch_flat(each, Batched(size), flat, dims)
        placed = [
            place_axis(x, d, None if d is None else 0, size)
            for x, d in zip(outs, out_dims, strict=True)
        ]
        return placed, [d is not None for d in out_dims]

    def _dual(
        self, size: int, mapped: Sequence[bool], primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        flags: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            outs, out_mapped = self.rule.apply(size, mapped, xs)
            flags.extend(out_mapped)
            return outs

        outs, out_tangents = jvp_flat(run, primals, tangents)
        filled = [
            zeros_of(tangent_aval(get_aval(x))) if t is None else t
            for x, t in zip(outs, out_tangents, strict=True)
        ]
        return [*outs, *filled], [*flags, *flags]


def _first(x: Any) -> Any:
    """Return the first of equal rows."""
    shape = get_aval(x).shape
    row = op.slice(x, start_indices=(0,) * len(shape), limit_indices=(1, *shape[1:]), strides=None)
    return op.squeeze(row, dimensions=(0,))


class CustomVmapCall(InlineCall):
    """A call of `olympuspr`, mapped by `rule`; None maps the program itself.

    The first `num_consts` operands are the values that the function closes over.
    """

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        n, rule = params["num_consts"], params["rule"]
        if rule is None or any(d is not None for d in dims[:n]):
            program, out_dims = batch_program(params["olympuspr"], batched, tuple(dims))
            return self.bind(*args, **(params | {"olympuspr": program, "rule": None})), out_dims
        values = [
            place_axis(x, d, None if d is None else 0, batched.size)
            for x, d in zip(args[n:], dims[n:], strict=True)
        ]
        outs, mapped = rule.apply(batched.size, [d is not None for d in dims[n:]], values)
        return outs, tuple([0 if m else None for m in mapped])

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        n, rule = params["num_consts"], params["rule"]
        nonzero = tuple(t is not None for t in tangents)
        if rule is None or any(nonzero[:n]):
            return super().jvp(primals, tangents, **(params | {"rule": None}))
        count = len(params["olympuspr"].outvars)
        program, _ = jvp_program(params["olympuspr"], nonzero, (True,) * count)
        given = [t for t in tangents if t is not None]
        dual = {"olympuspr": program, "rule": DualRule(rule, nonzero[n:])}
        outs = self.bind(*primals, *given, **(params | dual))
        return outs[:count], [
            t if _has_tangent(x) else None for x, t in zip(outs[:count], outs[count:], strict=True)
        ]

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        return super().split(unknown, **(params | {"rule": None}))


def _has_tangent(x: Any) -> bool:
    return get_aval(x).dtype.kind not in "iub"


custom_vmap_p = CustomVmapCall("custom_vmap_call")


class custom_vmap(WithSetters, Generic[_P, _R]):
    """A function whose mapped form is given by `def_vmap`.

    >>> @custom_vmap
    ... def f(x, y): return x + y
    >>> @f.def_vmap
    ... def _(axis_size, in_batched, x, y): return x + y, in_batched[0] or in_batched[1]
    """

    __name__: str
    __wrapped__: Callable[_P, _R]

    def __init__(self, fun: Callable[_P, _R]) -> None:
        look_like(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None
        self.is_only = False

    def def_vmap(self, vmap_rule: _Rule) -> _Rule:
        """Set the rule: (size of the axis, list of mapped arguments, *arguments) -> a pair.

        The list has a tree of bools for each argument; mapped arrays have the axis in front. The
        pair is the result, and a tree of bools: which of its arrays have the axis in front.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        positional = bind_positions(self.fun, args, kwargs, "custom_vmap")
        name = function_name(self.fun)
        if self.vmap_rule is None:
            raise UndefinedRuleError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap."
            )
        leaves, in_tree = data.flatten_data(positional)
        avals = [get_aval(x) for x in leaves]
        body = stage_body(self.fun, in_tree, avals, "a function with a vmap rule of its own")
        outs = custom_vmap_p.bind(
            *body.consts,
            *leaves,
            name=name,
            num_consts=len(body.consts),
            olympuspr=body.program,
            rule=UserRule(self.vmap_rule, in_tree, body.out_tree, self.is_only),
        )
        result: _R = body.out_tree.unflatten(outs)
        return result
