"""`Primitive`: an operation that a user defines, by rules under JAX's conventions.

The rules are registered afterwards, each by a function: `def_impl` for concrete values,
`def_abstract_eval` for the types of the results, and those of `interpreters.ad`, `batching` and
`mlir`. A class that derives from it may have methods of the core as rules instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import UnsupportedError
from olympus_core.extension.lowering_context import lower_by
from olympus_core.ir.primitive import Avals, Primitive, varying_results
from olympus_core.ir.trace import Trace, current_trace, using_trace

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext

_Rule = TypeVar("_Rule", bound=Callable[..., Any])
_serial = itertools.count()
#: the absent rules in JAX's words, by the method of the core
_ABSENT = {
    "jvp": "Differentiation rule for '{}' not implemented",
    "transpose": "Transpose rule (for reverse-mode differentiation) for '{}' not implemented",
    "batch": "Batching rule for '{}' not implemented",
}


class _IsPrimitive(type):
    def __instancecheck__(cls, instance: object) -> bool:
        if cls.__name__ == "UserPrimitive":
            return isinstance(instance, Primitive)
        return super().__instancecheck__(instance)


class UserPrimitive(Primitive, metaclass=_IsPrimitive):
    """An operation whose rules a user registers; every primitive is an instance.

    The attribute `multiple_results` is False for a primitive of one result; set it to True for one
    of a list.

    >>> double_p = Primitive("double")
    >>> double_p.def_impl(lambda x: 2 * x)
    >>> double_p.def_abstract_eval(lambda x: x)
    >>> double_p.bind(3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    higher_order = True
    inlined = True
    multiple_results: bool = False  # type: ignore[misc]  # an attribute of the instance too
    is_effect: bool = False  # type: ignore[misc]  # of the primitive
    call_primitive: bool = False
    ref_primitive: bool = False
    skip_canonicalization: bool = False
    is_effectful: Any = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = "a program of the user"
        self._kinds = {}
        self._serial = next(_serial)
        #: the rule that emits StableHLO by platform, None for all
        self.lowerings: dict[str | None, Callable[..., Any]] = {}

    def lowering_key(self, params: dict[str, Any]) -> str:
        """Return a text that differs for operations that may be lowered differently."""
        functions = [id(v) for v in params.values() if callable(v)]
        return f"{self.name}#{self._serial}{functions or ''}"

    def def_impl(self, impl: _Rule) -> _Rule:
        """Set the function of concrete values: (*values, **params) -> results."""
        self.impl = impl  # type: ignore[method-assign]
        return impl

    def def_abstract_eval(self, abstract_eval: _Rule) -> _Rule:
        """Set the function of types: (*avals, **params) -> the result's type, or a list."""
        self.abstract_eval = lambda *avals, **params: (  # type: ignore[method-assign]
            abstract_eval(*avals, **params),
            frozenset(),
        )
        return abstract_eval

    def def_effectful_abstract_eval(self, abstract_eval: _Rule) -> _Rule:
        """Set the function of types: (*avals, **params) -> (types of the results, effects)."""
        self.abstract_eval = abstract_eval  # type: ignore[method-assign]
        return abstract_eval

    def def_bind_with_trace(self, bind_with_trace: _Rule) -> _Rule:
        """Set the function that binds it: (trace, values, params) -> results."""
        self.bind = lambda *args, **params: bind_with_trace(  # type: ignore[method-assign]
            current_trace(), args, params
        )
        return bind_with_trace

    def bind_with_trace(self, trace: Trace, args: Sequence[Any], *rest: Any) -> Any:
        """Apply the primitive under a trace; the parameters come last."""
        with using_trace(trace):
            return trace.process(self, list(args), rest[-1])

    def impl(self, *args: Any, **params: Any) -> Any:
        """Return the results for concrete values; raise UnsupportedError without `def_impl`."""
        self._absent(f"Evaluation rule for '{self.name}' not implemented")

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        """Return (types of the results, effects); raise UnsupportedError without a rule."""
        self._absent(f"Abstract evaluation for '{self.name}' not implemented")

    def out_avals(self, avals: Avals, params: dict[str, Any]) -> Avals:
        return varying_results(super().out_avals(avals, params), avals)

    def abstract(self, *avals: ShapedArray, **params: Any) -> Any:
        results, effects = self.abstract_eval(*avals, **params)
        if effects:
            self.is_effect = True
        return results

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        out = self.impl(*args, **params)
        return list(out) if self.multiple_results else out

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        rule = self.lowerings.get(ctx.platform) or self.lowerings.get(None)
        if rule is None:
            self._absent(
                f"MLIR translation rule for primitive '{self.name}' not found for platform "
                f"{ctx.platform}"
            )
        outs = lower_by(rule, self, ctx, operands, params)
        return outs if self.multiple_results else outs[0]

    def _missing(self, method: str, purpose: str) -> NoReturn:
        if method in _ABSENT:
            self._absent(_ABSENT[method].format(self.name))
        super()._missing(method, purpose)

    def _absent(self, message: str) -> NoReturn:
        raise UnsupportedError(message)
