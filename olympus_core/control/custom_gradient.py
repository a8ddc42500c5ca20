"""`custom_gradient`, and other helpers of derivatives that a user writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError
from olympus_core.base.source import function_name, wraps
from olympus_core.control.bodies import Body, stage_body
from olympus_core.control.custom_rules import SymbolicZero
from olympus_core.control.custom_vjp import CustomVJPPrimal, custom_vjp
from olympus_core.transforms import data
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.linearize import tangent_aval

_P = ParamSpec("_P")


def custom_gradient(fun: Callable[_P, tuple[Any, Callable[..., Any]]]) -> Callable[_P, Any]:
    """Return a function of the first result of `fun`, whose second result is the reverse rule.

    The rule takes a cotangent of the result, and returns one for each argument, or one value if
    there is one argument. It may close over values of `fun`, and not branch on them. Raises
    TransformError for a rule that returns another number of cotangents.

    >>> f = custom_gradient(lambda x: (x * x, lambda ct: 10 * x * ct))
    >>> grad(f)(3.0)
    Array(30., dtype=float32, weak_type=True)
    """

    @wraps(fun)
    def valued(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        return fun(*args, **kwargs)[0]

    def forward(*args: _P.args, **kwargs: _P.kwargs) -> tuple[Any, Any]:
        result, rule = fun(*args, **kwargs)
        leaves, _ = data.flatten_data(result)
        avals = [tangent_aval(get_aval(x)) for x in leaves]
        what = f"the gradient of '{function_name(fun)}'"
        body = stage_body(rule, tree.structure((result,)), avals, what)
        return result, tree.Partial(_Backward(body), list(body.consts))

    def backward(residuals: Any, cotangent: Any) -> Any:
        return residuals(cotangent)

    wrapped: custom_vjp[_P, Any] = custom_vjp(valued)
    wrapped.defvjp(forward, backward)
    return wrapped


class _Backward:
    """The staged rule of `custom_gradient`: (values it closes over, cotangent) -> cotangents."""

    def __init__(self, body: Body) -> None:
        self.program, self.out_tree = body.program, body.out_tree

    def __call__(self, consts: Sequence[Any], cotangent: Any) -> Any:
        leaves, _ = data.flatten_data(cotangent)
        outs = self.out_tree.unflatten(evaluate(self.program, [*consts, *leaves]))
        return (outs,) if self.out_tree == tree.structure(0) else outs


def custom_vjp_primal_tree_values(tree_of_primals: Any) -> Any:
    """Return the values of a tree of `CustomVJPPrimal`, the arguments of a `fwd`.

    Raises TransformError (a TypeError) for a leaf of another class.

    >>> custom_vjp_primal_tree_values((CustomVJPPrimal(1.0, True),))
    (1.0,)
    """

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TransformError(f"unexpected leaf type {type(leaf)}, not CustomVJPPrimal")
        return leaf.value

    return tree.map(value, tree_of_primals)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value: zeros of its type, float0 for integers.

    With `symbolic_zeros` it is a SymbolicZero, as rules with `symbolic_zeros=True` get.

    >>> zero_from_primal(3.0)
    Array(0., dtype=float32)
    """
    aval = tangent_aval(get_aval(val))
    return SymbolicZero(aval) if symbolic_zeros else instantiate(None, aval)
