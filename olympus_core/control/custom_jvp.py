"""`custom_jvp`: a function with a forward derivative that its author wrote."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, ParamSpec, TypeVar

from olympus_core.base import source, tree
from olympus_core.base.avals import get_aval, value_text
from olympus_core.base.errors import TransformError
from olympus_core.base.source import function_name
from olympus_core.control.bodies import Body
from olympus_core.control.custom_rules import (
    CustomCall,
    CustomFunction,
    ResultTypes,
    RuleCall,
    SymbolicZero,
    VmapAxes,
    mapped_in_front,
)
from olympus_core.ir.primitive import Batched, op
from olympus_core.ir.tracer import Tracer
from olympus_core.transforms import data
from olympus_core.transforms.autodiff import differentiable
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.linearize import tangent_aval

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Rule:
    """A user's rule on flat lists: (primals, tangents or None) -> (results, their tangents).

    `out_tree` and `out_avals` describe the function's result, if it is known yet.
    """

    def __init__(self, owner: custom_jvp[..., Any], call: RuleCall, body: Body | None) -> None:
        self.owner, self.static = owner, call.static
        self.name = function_name(owner.fun)
        self.in_tree = call.in_tree
        self.out_tree = None if body is None else body.out_tree
        self.out_avals = None if body is None else body.out_avals
        self.axes = VmapAxes()

    def differentiate(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents from the rule.

        Raises TransformError if they do not have the function's structure and types.
        """
        avals = [get_aval(x) for x in primals]
        symbolic = self.owner.symbolic_zeros
        rule_tangents = [
            SymbolicZero(a) if t is None and symbolic else instantiate(t, tangent_aval(a))
            for t, a in zip(tangents, avals, strict=True)
        ]
        assert self.owner.rule is not None
        result = source.call_rule(
            self.owner.rule,
            *self.static,
            self.in_tree.unflatten(primals),
            self.in_tree.unflatten(rule_tangents),
        )
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TransformError(
                f"Custom JVP rule {function_name(self.owner.rule)} for function {self.name} must "
                "produce a pair (list or tuple of length two) representing primal and tangent "
                f"outputs, but got {value_text(result)}"
            )
        outs, out_tree = data.flatten_data(result[0])
        out_tangents, tangent_tree = tree.flatten(result[1], lambda x: isinstance(x, SymbolicZero))
        rule = function_name(self.owner.rule)
        if out_tree != tangent_tree:
            raise TransformError(
                f"Custom JVP rule {rule} for function {self.name} must produce primal and tangent "
                f"outputs with equal container (pytree) structures, but got {out_tree} and "
                f"{tangent_tree} respectively."
            )
        if self.out_tree is not None:
            expected = ResultTypes(self.name, self.out_tree, self.out_avals)
            expected.check(True, rule, out_tree, outs)
        self.out_tree = out_tree
        _check_tangents(outs, out_tangents)
        return outs, [None if _is_zero(t) else t for t in out_tangents]

    def mapped(self, batched: Batched, dims: Sequence[int | None]) -> _MappedRule:
        """Return the rule mapped over an axis of its operands."""
        return _MappedRule(self, batched, dims)


def _is_zero(t: Any) -> bool:
    """Return True for a symbolic zero, or a float0 array, the tangent of an integer."""
    return isinstance(t, SymbolicZero) or data.is_float0(t)


def _check_tangents(outs: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Raise TransformError unless each tangent of a rule has the type for its result."""
    wrong = []
    for x, t in zip(outs, tangents, strict=True):
        if _is_zero(t):
            continue
        primal, own = get_aval(x).strip_weak(), get_aval(t)
        expected, name = tangent_aval(primal), primal.long_name()
        if not differentiable(primal):
            wrong.append((name, own.long_name(), f"float0{list(primal.shape)}"))
        elif (own.shape, own.dtype) != (expected.shape, expected.dtype):
            wrong.append((name, own.long_name(), expected.long_name()))
    if not wrong:
        return
    term = (
        "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and "
        "dtypes"
    )
    if len(outs) == 1:
        ((name, own_name, expected_name),) = wrong
        raise TransformError(
            f"{term}. Expected {expected_name} (tangent type of {name}) but got {own_name}."
        )
    lines = [f"  primal {p} with tangent {t}, expecting tangent {e}" for p, t, e in wrong]
    raise TransformError(f"{term}, but got:\n" + "\n".join(lines))


class _MappedRule:
    """A rule mapped over an axis of its operands; each result is mapped at axis 0."""

    def __init__(self, rule: Any, batched: Batched, dims: Sequence[int | None]) -> None:
        self.rule, self.batched, self.dims = rule, batched, tuple(dims)
        self.axes: VmapAxes = rule.axes

    def differentiate(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents, all mapped at axis 0."""
        active = [t is not None for t in tangents]
        n = len(primals)
        has_tangent: list[bool] = []

        def flat(*args: Any) -> list[Any]:
            nonzero_tangents = iter(args[n:])
            outs, ts = self.rule.differentiate(
                args[:n], [next(nonzero_tangents) if a else None for a in active]
            )
            has_tangent.extend(t is not None for t in ts)
            return [*outs, *(t for t in ts if t is not None)]

        values = [*primals, *(t for t in tangents if t is not None)]
        tangent_dims = [d for d, a in zip(self.dims, active, strict=True) if a]
        axis = self.axes.of(self.batched)
        dims = [*self.dims, *tangent_dims]
        placed = mapped_in_front(flat, self.batched, values, dims, axis)
        count = len(has_tangent)
        out_tangents = iter(placed[count:])
        return placed[:count], [next(out_tangents) if m else None for m in has_tangent]

    def mapped(self, batched: Batched, dims: Sequence[int | None]) -> _MappedRule:
        """Return the rule mapped over one more axis."""
        return _MappedRule(self, batched, dims)


custom_jvp_call_p = CustomCall("custom_jvp_call", rule="rule")


class custom_jvp(CustomFunction[_P, _R]):
    """A function whose forward derivative is given by `defjvp` or `defjvps`.

    `nondiff_argnums` are positions, and `nondiff_argnames` names, of arguments that are passed to
    the rule unchanged, first and in the order of their positions.

    The function and its rule may use Python's control flow on concrete values: in an eager call, or
    under an eager `jvp`, `vjp` or `grad`.

    >>> @custom_jvp
    ... def f(x): return x * x
    >>> @f.defjvp
    ... def _(primals, tangents): return f(*primals), 2 * primals[0] * tangents[0]
    """

    _primitive: ClassVar[CustomCall] = custom_jvp_call_p
    _definer: ClassVar[str] = "defjvp"
    _kind: ClassVar[str] = "custom_jvp"
    _missing: ClassVar[str] = "No JVP defined for custom_jvp"

    def __init__(
        self,
        fun: Callable[_P, _R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.rule: Callable[..., Any] | None = None

    def defjvp(self, jvp: _Function, symbolic_zeros: bool = False) -> _Function:
        """Set the rule: (primals, tangents) -> (result, its tangent), as tuples and trees."""
        self.rule = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: (tangent, result, *primals) -> its contribution or None."""
        if self.nondiff_argnums:
            raise TransformError(
                "Can't use ``defjvps`` with ``nondiff_argnums``.", hint="use defjvp"
            )

        value: Callable[..., Any] = self

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
            out = value(*primals)
            shares = [j(t, out, *primals) for j, t in zip(jvps, tangents, strict=True) if j]
            if not shares:
                return out, tree.map(lambda x: instantiate(None, tangent_aval(get_aval(x))), out)
            add = functools.partial(functools.reduce, op.add_any)
            return out, tree.map(lambda *xs: add(xs), *shares)

        self.defjvp(rule)

    @property
    def _defined(self) -> bool:
        """Return True if the rule has been set."""
        return self.rule is not None

    def _with_static(self, positional: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, with no tangents for traced arrays of `nondiff_argnums`."""
        return tuple(
            [
                op.stop_gradient(x) if i in self.nondiff_argnums and isinstance(x, Tracer) else x
                for i, x in enumerate(positional)
            ]
        )

    def _flat_rule(self, call: RuleCall, body: Body | None) -> _Rule:
        """Return the rule of a call, on flat lists."""
        return _Rule(self, call, body)
