"""`olympus.experimental.jet`: the derivatives of all orders along a curve, by one evaluation.

A trace propagates the coefficients of a Taylor polynomial with each value. A primitive has a rule
in `jet_rules`, or else its coefficients are forward derivatives of forward derivatives, each order
of which about doubles the operations.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.ir import trace
from olympus_core.ir.primitive import Primitive, op
from olympus_core.ir.trace import Trace, using_trace
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.library.lax.elementwise import exp, lgamma
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones_like, zeros, zeros_like
from olympus_core.transforms.autodiff import jvp
from olympus_core.transforms.evaluate import evaluate

#: the coefficients of one value, or `zero_series`
Series = Any


class ZeroTerm:
    """A coefficient that is zero; `zero_term` is its instance."""


class ZeroSeries:
    """The coefficients of a value that does not change along the curve: `zero_series`."""


zero_term = ZeroTerm()
zero_series = ZeroSeries()
tree.register_node(ZeroTerm, lambda _: ((), None), lambda *_: zero_term)
tree.register_node(ZeroSeries, lambda _: ((), None), lambda *_: zero_series)

#: the rule of each primitive: (primals, series, **params) -> (results, their series)
jet_rules: dict[Primitive, Callable[..., tuple[Any, Any]]] = {}
#: the functions that change the parameters of a call before its program is evaluated: (params,
#: number of arrays) -> params
call_param_updaters: dict[Primitive, Callable[[dict[str, Any], int], dict[str, Any]]] = {}


class JetTracer(Tracer):
    """A value, and the coefficients `terms` of its Taylor polynomial, or `zero_series`.

    >>> def f(x):
    ...     assert isinstance(x, JetTracer) and len(x.terms) == 1
    ...     return x
    >>> jet(f, (1.0,), ((2.0,),))[0]
    1.0
    """

    __slots__ = ("primal", "terms")
    owner: JetTrace

    def __init__(self, trace: JetTrace, primal: Any, terms: Series) -> None:
        self.owner = trace
        self.primal = primal
        self.terms = terms
        self.aval = get_aval(primal)

    def full_lower(self) -> Any:
        """Return the value alone if its coefficients are zero."""
        is_zero = self.terms is zero_series or all(t is zero_term for t in self.terms)
        return self.primal if is_zero else self

    def origin(self) -> str:
        """Return the origin of the value."""
        inner = self.primal.origin() if isinstance(self.primal, Tracer) else "a value"
        return f"{inner}, in jet"


class JetTrace:
    """Propagates the coefficients of the orders 1 to `order` with each value.

    `tag` distinguishes the values of one `jet` from those of others.
    """

    __slots__ = ("order", "parent", "tag")

    def __init__(self, tag: Any, parent_trace: Trace, order: int) -> None:
        self.tag = tag
        self.parent = parent_trace
        self.order = order

    @property
    def parent_trace(self) -> Trace:
        """The trace around it, in which the operations of coefficients are bound."""
        return self.parent

    def to_primal_terms_pair(self, val: Any) -> tuple[Any, Series]:
        """Return a value and its coefficients; `zero_series` for a value of another trace."""
        if val.__class__ is JetTracer and val.owner.tag is self.tag:
            return val.primal, val.terms
        return val, zero_series

    def wrap(self, primal: Any, terms: Series) -> Any:
        """Return a tracer; or the value itself if its coefficients are zero."""
        return primal if terms is zero_series else JetTracer(self, primal, terms)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's rule in the parent trace."""
        primals, series = _unzip([self.to_primal_terms_pair(x) for x in args])
        with using_trace(self.parent):
            if all(s is zero_series for s in series):
                return self.parent.process(primitive, primals, params)
            if primitive.is_call and primitive not in jet_rules:
                if (update := call_param_updaters.get(primitive)) is not None:
                    params = update(params, len(primals) * (1 + self.order))
                with using_trace(self):
                    return evaluate(params["olympuspr"], args)
            if (rule := jet_rules.get(primitive)) is not None:
                filled = [_filled(x, s, self.order) for x, s in zip(primals, series, strict=True)]
                out, terms = rule(primals, filled, **params)
            else:
                out, terms = _by_derivatives(primitive, primals, series, self.order, params)
        if not primitive.multiple_results:
            return self.wrap(out, terms)
        every = [zero_series] * len(out) if terms is zero_series else terms
        return [self.wrap(o, t) for o, t in zip(out, every, strict=True)]


def _unzip(pairs: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


def _filled(x: Any, series: Series, order: int) -> list[Any]:
    """Return coefficients as arrays; `zero_term` becomes zeros of the type of `x`."""
    terms = [zero_term] * order if series is zero_series else series
    if all(t is not zero_term for t in terms):
        return list(terms)
    aval = get_aval(x)
    zero = zeros(aval.shape, aval.dtype)
    return [zero if t is zero_term else t for t in terms]


def _curve(x: Any, coefficients: Sequence[Any], t: Any) -> Any:
    """Return x + c1 t + c2 t^2 + ... by Horner's rule."""
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = (coefficient + total) * t
    return asarray(x + total).astype(get_aval(x).dtype)


def _extended(derivatives: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Return a function of a value and its first derivatives, with the next derivative too."""

    def with_next(t: Any) -> list[Any]:
        values, tangents = jvp(derivatives, (t,), (ones_like(t),))
        return [*values, tangents[-1]]

    return with_next


def _is_inexact(x: Any) -> bool:
    return dtypes.kind(get_aval(x).dtype) in "fc"


def _by_derivatives(
    primitive: Primitive,
    primals: Sequence[Any],
    series: Sequence[Series],
    order: int,
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """Return the results of a primitive and their coefficients, by forward derivatives."""
    several = primitive.multiple_results
    out = primitive.bind(*primals, **params)
    outs = list(out) if several else [out]
    inexact = [i for i, x in enumerate(outs) if _is_inexact(x)]
    moving = [s is not zero_series and _is_inexact(x) for x, s in zip(primals, series, strict=True)]

    def at(t: Any) -> list[Any]:
        args = [
            _curve(x, _filled(x, s, order), t) if m else x
            for x, s, m in zip(primals, series, moving, strict=True)
        ]
        results = primitive.bind(*args, **params)
        return [[results[i] for i in inexact] if several else [results] * len(inexact)]

    terms: list[Series] = [zero_series] * len(outs)
    if inexact and any(moving):
        derivatives: Callable[[Any], list[Any]] = at
        for _ in range(order):
            derivatives = _extended(derivatives)
        found = derivatives(asarray(0.0))[1:]
        for place, i in enumerate(inexact):
            terms[i] = [
                (d[place] / math.factorial(k + 1)).astype(outs[i].dtype)
                for k, d in enumerate(found)
            ]
    return (outs, terms) if several else (outs[0], terms[0])


def run_jet(
    fun: Callable[..., Sequence[Any]],
    tag: Any,
    order: int,
    primals: Sequence[Any],
    series: Sequence[Series],
) -> tuple[list[Any], list[Series]]:
    """Return the flat results of a flat function and their coefficients, or `zero_series`.

    >>> run_jet(lambda x: [x * x], object(), 1, [3.0], [[1.0]])[1][0][0]
    Array(6., dtype=float32, weak_type=True)
    """
    own = JetTrace(tag, trace.current_trace(), order)
    inputs = [own.wrap(x, s) for x, s in zip(primals, series, strict=True)]
    with using_trace(own):
        outs = fun(*inputs)
    return _unzip([own.to_primal_terms_pair(x) for x in outs])


def instantiated(
    primals: Sequence[Any], series: Sequence[Series], order: int
) -> tuple[list[Any], list[list[Any]]]:
    """Return results and their coefficients, with arrays of zeros for `zero_series`.

    >>> instantiated([1.0], [zero_series], 1)[1]
    [[Array(0., dtype=float32, weak_type=True)]]
    """
    return list(primals), [
        [zeros_like(x)] * order if s is zero_series else _filled(x, s, order)
        for x, s in zip(primals, series, strict=True)
    ]


def _checked_order(primals: Sequence[Any], series: Sequence[Sequence[Any]]) -> int:
    """Return the number of terms of each series; raise ArgumentError if they differ."""
    orders = {len(terms) for terms in series}
    if len(orders) != 1 or len(primals) != len(series):
        raise ArgumentError("jet terms have inconsistent lengths for different arguments")
    for i, (x, terms) in enumerate(zip(primals, series, strict=True)):
        for j, value in enumerate((x, *terms)):
            if tree.structure(value) != tree.structure(0):
                what = (
                    f"primal value at position {i}" if j == 0 else f"term {j - 1} for argument {i}"
                )
                raise ArgumentError(f"{what} is not an array")
    return orders.pop()


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Return the value of a function and its derivatives along a curve.

    primals: the arguments, arrays. series: for each argument, the n derivatives of its curve.
    factorial_scaled: False if the series are coefficients of Taylor polynomials.

    The results are the tree of values, and the same tree with a list of n derivatives, or
    coefficients, for each leaf.

    Raises ArgumentError for series of different lengths, or arguments that are trees.

    >>> value, terms = jet(sin, (0.0,), ((1.0, 0.0, 0.0),))
    >>> [float(term) for term in terms]
    [1.0, 0.0, -1.0]
    """
    order = _checked_order(primals, series)
    scales = [math.factorial(k + 1) if factorial_scaled else 1 for k in range(order)]
    curves = [[s / f for s, f in zip(terms, scales, strict=True)] for terms in series]
    out_trees: list[Any] = []

    def flat(*args: Any) -> list[Any]:
        leaves, treedef = tree.flatten(fun(*args))
        out_trees.append(treedef)
        return leaves

    found = run_jet(flat, object(), order, primals, curves)
    values, terms = instantiated(*found, order)
    columns = [
        [asarray(c * f).astype(get_aval(x).dtype) for c, f in zip(column, scales, strict=True)]
        for x, column in zip(values, terms, strict=True)
    ]
    return out_trees[-1].unflatten(values), out_trees[-1].unflatten(columns)


def jet2(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]], **_: Any
) -> tuple[Any, Any]:
    """Return `jet` of a function, where the series are coefficients of Taylor polynomials.

    >>> value, terms = jet2(lambda x: x * x, (3.0,), ((1.0, 0.0),))
    >>> [float(term) for term in terms]
    [6.0, 1.0]
    """
    return jet(fun, primals, series, factorial_scaled=False)


def fact(n: Any) -> Array:
    """Return the factorial of a number, as a float.

    >>> round(float(fact(3)), 4)
    6.0
    """
    result: Array = exp(lgamma(asarray(n + 1.0)))
    return result


def zero_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Return the results of a primitive whose derivatives are zero: a rule of `jet_rules`.

    >>> zero_prop(extend.core.primitives.floor_p, [1.5], [[1.0]])[1] is zero_series
    True
    """
    return prim.bind(*primals_in, **params), zero_series


def defzero(prim: Primitive) -> None:
    """Declare that the derivatives of a primitive are zero.

    >>> defzero(extend.core.primitives.floor_p)
    """
    jet_rules[prim] = functools.partial(zero_prop, prim)


def linear_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Return the results of a linear primitive and their coefficients: a rule of `jet_rules`.

    >>> linear_prop(extend.core.primitives.neg_p, [1.0], [[2.0]])[1]
    [Array(-2., dtype=float32, weak_type=True)]
    """
    out = prim.bind(*primals_in, **params)
    terms = [prim.bind(*terms_in, **params) for terms_in in zip(*series_in, strict=True)]
    if prim.multiple_results:
        return out, [list(column) for column in zip(*terms, strict=True)]
    return out, terms


def deflinear(prim: Primitive) -> None:
    """Declare that a primitive is linear in its operands together.

    >>> deflinear(extend.core.primitives.neg_p)
    """
    jet_rules[prim] = functools.partial(linear_prop, prim)


def deriv_prop(
    prim: Primitive,
    deriv: Callable[[Any], Any],
    primals_in: Sequence[Any],
    series_in: Sequence[Any],
    **params: Any,
) -> tuple[Any, Any]:
    """Return the results of a primitive of one operand by its derivative: a rule of `jet_rules`.

    deriv: the first derivative as a function, which does not bind the primitive.

    >>> deriv_prop(extend.core.primitives.sin_p, cos, [0.0], [[1.0]])[1]
    [Array(1., dtype=float32, weak_type=True)]
    """
    (x,), (terms,) = primals_in, series_in
    first, rest = jet2(deriv, primals_in, series_in)
    slopes, inner, outs = [first, *rest], [x, *terms], [prim.bind(x, **params)]
    for k in range(1, len(inner)):
        total = sum(j * slopes[k - j] * inner[j] for j in range(1, k + 1))
        outs.append(asarray(total / k).astype(outs[0].dtype))
    return outs[0], outs[1:]


def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Set the rule of a primitive of one operand by its first derivative, a function.

    The derivative does not bind the primitive itself.

    >>> def_deriv(extend.core.primitives.atan_p, lambda x: 1 / (1 + x * x))
    """
    jet_rules[prim] = functools.partial(deriv_prop, prim, deriv)


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Set the rule of a primitive by a function of others that computes the same.

    >>> def_comp(extend.core.primitives.expm1_p, lambda x: numpy.exp(x) - 1)
    """
    jet_rules[prim] = functools.partial(jet2, comp, **kwargs)


def _bilinear(prim: Primitive, primals: Any, series: Any, **params: Any) -> tuple[Any, Any]:
    """Return a product and its coefficients, by the sums of products of coefficients."""
    xs, ys = ([x, *terms] for x, terms in zip(primals, series, strict=True))
    outs = []
    for k in range(len(xs)):
        products = [prim.bind(xs[j], ys[k - j], **params) for j in range(k + 1)]
        outs.append(functools.reduce(op.add, products))
    return outs[0], outs[1:]


def _quotient(primals: Any, series: Any) -> tuple[Any, Any]:
    """Return a quotient and its coefficients: those of x = quotient * y, one after the other."""
    xs, ys = ([x, *terms] for x, terms in zip(primals, series, strict=True))
    outs = [op.div(xs[0], ys[0])]
    for k in range(1, len(xs)):
        products = [op.mul(outs[j], ys[k - j]) for j in range(k)]
        outs.append(op.div(op.sub(xs[k], functools.reduce(op.add, products)), ys[0]))
    return outs[0], outs[1:]


def _exponential(primals: Any, series: Any, **params: Any) -> tuple[Any, Any]:
    """Return an exponential and its coefficients: its derivative is itself times that of x."""
    (x,), (terms,) = primals, series
    inner, outs = [x, *terms], [op.exp(x, **params)]
    for k in range(1, len(inner)):
        total = sum(j * outs[k - j] * inner[j] for j in range(1, k + 1))
        outs.append(asarray(total / k).astype(outs[0].dtype))
    return outs[0], outs[1:]


_ZERO = (
    *("le", "lt", "gt", "ge", "eq", "ne", "not", "and", "or", "xor", "floor", "ceil", "round"),
    *("sign", "stop_gradient", "is_finite", "shift_left", "shift_right_arithmetic"),
    *("shift_right_logical", "bitcast_convert_type"),
)
_LINEAR = (
    *("neg", "real", "imag", "complex", "conj", "add", "sub", "convert_element_type", "copy"),
    *("broadcast_in_dim", "concatenate", "split", "stack", "unstack", "pad", "reshape", "squeeze"),
    *("rev", "transpose", "slice", "reduce_sum", "reduce_window_sum", "fft", "cumsum", "reshard"),
    "add_any",
)


def _set_rules() -> None:
    for names, declare in ((_ZERO, defzero), (_LINEAR, deflinear)):
        for name in names:
            if (primitive := op.find(name)) is not None:
                declare(primitive)
    for name in ("mul", "dot_general", "conv_general_dilated"):
        if (primitive := op.find(name)) is not None:
            jet_rules[primitive] = functools.partial(_bilinear, primitive)
    for name, rule in (("div", _quotient), ("exp", _exponential)):
        if (primitive := op.find(name)) is not None:
            jet_rules[primitive] = rule


_set_rules()
