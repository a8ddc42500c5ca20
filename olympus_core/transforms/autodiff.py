"""The public derivatives of functions of trees.

`jvp` and `linearize` are forward mode, `vjp` and `grad` reverse mode; `jacfwd`, `jacrev` and
`hessian` build whole matrices of derivatives from them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped, value_text
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import DTypeError, MissingRuleError, TransformError, UnsupportedError
from olympus_core.base.source import function_name
from olympus_core.base.tree_differences import lines
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.primitives.sharding import retyped
from olympus_core.transforms import data
from olympus_core.transforms.flat import (
    as_derivative,
    canonical_argnums,
    check_arrays,
    check_callable,
    check_results,
    check_same,
    derived,
    instantiate,
    names_of,
    pick,
    refill,
    typed_number,
    zeros_of,
)
from olympus_core.transforms.jvp import jvp_flat
from olympus_core.transforms.linearize import LinearFunction, linearize_flat
from olympus_core.transforms.pull_back import VJP, DontWant, TransposedFunction, vjp_of
from olympus_core.transforms.references import AbstractRef, boxing, is_reference
from olympus_core.transforms.staging import stage

_COTANGENT = "{path} was a {first} in the original output, but a {second} here"

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Aux = TypeVar("_Aux")


def differentiable(aval: ShapedArray) -> bool:
    """Return True if values of the type have tangents: floats and complex numbers."""
    return dtypes.kind(aval.dtype) in "fc"


@overload
def jvp(
    fun: Callable[..., _R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[_R, _Aux]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
) -> tuple[_R, _R, _Aux]: ...
@overload
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool,
) -> tuple[Any, ...]: ...
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return (fun(*primals), the derivative in the direction of `tangents` [, aux]).

    Tangents have the structure and types of their primals; those of integers have dtype float0.
    Raises TransformError for other tangents.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., ...), Array(6., ...))
    """
    check_callable("jvp", fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TransformError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}: "
            f"{value_text(primals)} and {value_text(tangents)}"
        )
    leaves, in_tree = tree.flatten(tuple(primals))
    directions, tangent_tree = data.flatten_tangents(tuple(tangents), in_tree)
    if in_tree != tangent_tree or isinstance(primals, list) != isinstance(tangents, list):
        raise TransformError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"have tree structure {tree.structure(primals)} whereas tangents have tree structure "
            f"{tree.structure(tangents)}"
        )
    names = names_of(fun, in_tree)
    check_arrays("jvp", fun, names, leaves)
    avals = [get_aval(x) for x in leaves]
    check_same("jvp", "tangent", names, avals, directions)
    active_tangents = [
        _split_as(t, a) if differentiable(a) else None
        for a, t in zip(avals, directions, strict=True)
    ]
    flat, trees = _flattened(fun, in_tree, has_aux, function_name(fun))
    what = f"jvp of '{function_name(fun)}'"
    outs, out_tangents = jvp_flat(flat, leaves, active_tangents, what)
    out_tree, aux_tree = trees()
    count = out_tree.num_leaves
    out_avals = [get_aval(x) for x in outs[:count]]
    is_weak = trace.at_base() and _are_weak(active_tangents)
    filled = [_instantiated(t, a, is_weak) for t, a in zip(out_tangents, out_avals, strict=False)]
    result = out_tree.unflatten(outs[:count]), out_tree.unflatten(filled)
    return (*result, aux_tree.unflatten(outs[count:])) if aux_tree is not None else result


def _split_as(tangent: Any, aval: ShapedArray) -> Any:
    """Return a tangent with the sharding of its value, whose type is `aval`."""
    is_typed = aval.explicit is not None and get_aval(tangent).explicit is not None
    return retyped(tangent, aval) if is_typed else tangent


def _are_weak(inputs: Sequence[Any]) -> bool:
    """Return True if the given (co)tangents are weakly typed, and so are those computed of them."""
    return all(x is None or get_aval(x).weak_type for x in inputs)


def _instantiated(x: Any, aval: ShapedArray, is_weak: bool) -> Any:
    """Return a (co)tangent as `instantiate` does; with `is_weak` it is as weak as `aval`."""
    value = instantiate(x, aval)
    return as_derivative(value, aval) if is_weak else value


def _flattened(
    fun: Callable[..., Any], in_tree: tree.PyTreeDef, has_aux: bool, name: str
) -> tuple[Callable[..., list[Any]], Callable[[], tuple[tree.PyTreeDef, tree.PyTreeDef | None]]]:
    """Return `fun` on flat leaves, with aux's last, and a function of the trees after its run.

    `name` is the user's function, for messages.
    """
    recorded_trees: list[tuple[tree.PyTreeDef, tree.PyTreeDef | None]] = []

    def flat(*leaves: Any) -> list[Any]:
        out = fun(*in_tree.unflatten(leaves))
        if not has_aux:
            outs, out_tree = tree.flatten(out)
            check_results(name, outs, out_tree)
            recorded_trees.append((out_tree, None))
            return outs
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise TransformError(
                "expected function with aux output to return a two-element tuple, but got type "
                f"{get_aval(out).long_name() if isinstance(out, Array) else type(out)}: '{name}' "
                "must return a pair (result, aux)"
            )
        outs, out_tree = tree.flatten(out[0])
        check_results(name, outs, out_tree)
        aux, aux_tree = tree.flatten(out[1])
        recorded_trees.append((out_tree, aux_tree))
        return outs + aux

    return flat, lambda: recorded_trees[-1]


@overload
def linearize(
    fun: Callable[..., _R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[_R, Callable[..., _R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[_R, _Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[_R, Callable[..., _R], _Aux]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (fun(*primals), the linear function from tangents to its derivative [, aux]).

    The derivative does not recompute `fun`, however often it is called.  It is a tree
    (`tree_util.Partial`), whose leaves are the residuals at the point.

    >>> y, tangent = linearize(lambda x: x * x, 3.0)
    >>> tangent(1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    check_callable("linearize", fun)
    leaves, in_tree = tree.flatten(primals)
    names = names_of(fun, in_tree)
    check_arrays("linearize", fun, names, leaves)
    flat, trees = _flattened(fun, in_tree, has_aux, function_name(fun))
    avals = [get_aval(x) for x in leaves]
    active = [differentiable(a) for a in avals]
    what = f"linearize of '{function_name(fun)}'"
    outs, linear = linearize_flat(flat, leaves, active, what)
    out_tree, aux_tree = trees()
    count = out_tree.num_leaves
    out_avals = [get_aval(x) for x in outs[:count]]

    def derivative(residuals: Sequence[Any], *tangents: Any) -> Any:
        values, tangent_tree = data.flatten_tangents(tangents, in_tree)
        if tangent_tree != in_tree:
            raise TransformError(
                f"expected {in_tree}, got {tangent_tree}: the derivative needs tangents of the "
                "primals' structure"
            )
        check_same("linearize", "tangent", names, avals, values)
        active_tangents = [t for t, a in zip(values, active, strict=True) if a]
        results = text.having(residuals).apply(active_tangents)[:count]
        filled = map(instantiate, results, out_avals)
        return out_tree.unflatten(map(as_derivative, filled, out_avals))

    text = linear.having(())
    result = out_tree.unflatten(outs[:count]), tree.Partial(derivative, linear.residuals)
    return (*result, aux_tree.unflatten(outs[count:])) if aux_tree is not None else result


def _only(what: str, cotangents: tuple[Any, ...]) -> Any:
    """Return the cotangent, the only argument of the function that `what` returned."""
    if len(cotangents) != 1:
        raise TransformError(
            f"The function returned by `jax.{what}` was called with {len(cotangents)} arguments, "
            f"but functions returned by `jax.{what}` must be called with a single argument, a "
            "cotangent of the result's structure",
            hint="pass those of several results as one tuple" if cotangents else None,
        )
    return cotangents[0]


def _pull_back(
    linear: LinearFunction,
    cotangents: Sequence[Any],
    active: Sequence[bool],
    wanted: Sequence[bool] | None = None,
) -> list[Any]:
    """Return a cotangent for each input: None for zeros, for integers and for one not `wanted`."""
    if wanted is not None:
        wanted = [w for w, a in zip(wanted, active, strict=True) if a]
    active_cotangents = iter(linear.transpose(cotangents, wanted))
    return [next(active_cotangents) if a else None for a in active]


@overload
def vjp(
    fun: Callable[..., _R],
    *primals: Any,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: Any = True,
) -> tuple[_R, VJP]: ...
@overload
def vjp(
    fun: Callable[..., tuple[_R, _Aux]],
    *primals: Any,
    has_aux: Literal[True],
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: Any = True,
) -> tuple[_R, VJP, _Aux]: ...
@overload
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: Any = True,
) -> tuple[Any, ...]: ...
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: Any = True,
) -> tuple[Any, ...]:
    """Return (fun(*primals), the function that pulls back a cotangent of the result [, aux]).

    The second takes a cotangent of the result's structure and types, and returns a tuple with one
    for each primal.  It is a tree, whose leaves are the residuals, and can be passed through jit,
    vmap and scan; its method `with_refs` adds cotangents to references.  The cotangent of a primal
    that is a reference is that of its first value, and is added to a reference.

    `saveable_args` is a boolean for each primal, with tuples for containers: a primal for which it
    is False is no residual, and is restored in `args_res` before the function is called.

    Raises TransformError for a cotangent of another structure or type, and UnsupportedError for
    `reduce_axes`.

    >>> y, pull_back = vjp(lambda x: x * x, 3.0)
    >>> pull_back(1.0)
    (Array(6., ...),)
    """
    check_callable("vjp", fun)
    _refuse_reduce_axes("vjp", reduce_axes)
    name, names = function_name(fun), names_of(fun, tree.structure(primals))
    leaves, in_tree = tree.flatten(primals)
    passed = {i: x for i, x in enumerate(leaves) if is_reference(x)}
    leaves = [x.value if i in passed else x for i, x in enumerate(leaves)]
    check_arrays("vjp", fun, names, leaves)
    flat, trees = _flattened(fun, in_tree, has_aux, name)
    avals = [get_aval(x) for x in leaves]
    active = [differentiable(a) for a in avals]
    what = f"vjp of '{name}'"
    outs, linear = linearize_flat(boxing(flat, passed), leaves, active, what, constant_scalars=True)
    for reference, value in zip(passed.values(), outs[len(outs) - len(passed) :], strict=True):
        reference.set_value(value)
    out_tree, aux_tree = trees()
    count, count_with_aux = out_tree.num_leaves, len(outs) - len(passed)
    out_avals = [get_aval(x) for x in outs[:count]]

    def pull_back(
        residuals: Sequence[Any], places: Sequence[Any], arguments: tuple[Any, ...]
    ) -> list[Any]:
        cotangent = _only("vjp", arguments)
        values, cotangent_tree = data.flatten_tangents(cotangent, out_tree)
        if cotangent_tree != out_tree:
            raise TransformError(
                f"unexpected tree structure of the argument to the VJP function of '{name}'. The "
                "tree structures differ:\n" + lines(out_tree, cotangent_tree, _COTANGENT, "out")
            )
        result_names = [f"result {i}" for i in range(count)]
        cotangent_avals = [a.with_cotangent_sharding() for a in out_avals]
        check_same("vjp", "cotangent", result_names, cotangent_avals, values)
        nonzero_cotangents = [
            c if differentiable(a) else None for c, a in zip(values, out_avals, strict=True)
        ]
        pairs = zip(nonzero_cotangents, out_avals, strict=True)
        is_weak = _are_weak([c for c, a in pairs if a.weak_type])
        nonzero_cotangents += [None] * (count_with_aux - count)
        # a reference for the cotangent of a reference has that of the last value
        nonzero_cotangents += [
            places[i].value if active[i] and is_reference(places[i]) else None for i in passed
        ]
        wanted = [not isinstance(p, DontWant) for p in places]
        input_cotangents = _pull_back(text.having(residuals), nonzero_cotangents, active, wanted)
        return [
            _instantiated(c, a.with_cotangent_sharding(), is_weak)
            for c, a in zip(input_cotangents, avals, strict=True)
        ]

    text = linear.having(())
    types = [AbstractRef(a) if i in passed else a for i, a in enumerate(avals)]
    transposed = TransposedFunction(text.program, list(zip(names, types, strict=True)), pull_back)
    pulled = vjp_of(transposed, linear.residuals, leaves, in_tree, out_tree, saveable_args)
    result = out_tree.unflatten(outs[:count]), pulled
    aux = outs[count:count_with_aux]
    return (*result, aux_tree.unflatten(aux)) if aux_tree is not None else result


def value_and_grad(
    fun: Callable[_P, _R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[_P, tuple[_R, Any]]:
    """Return a function that returns `fun`'s value and its gradient in the arguments `argnums`.

    `fun` returns a scalar, or with `has_aux` a pair (scalar, anything).  Gradients have the
    structure and types of their arguments.  `holomorphic` computes complex derivatives of complex
    functions; `allow_int` gives integers gradients of dtype float0.

    Raises TransformError for a result that is not a scalar, or an argument without a derivative,
    and UnsupportedError for `reduce_axes`, an option that JAX has removed.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable("grad", fun)
    _refuse_reduce_axes("value_and_grad", reduce_axes)
    name = function_name(fun)
    argnums = canonical_argnums(f"argnums of the derivative of '{name}'", argnums)

    @derived(fun, "Value and gradient", argnums)
    def valued(*args: _P.args, **kwargs: _P.kwargs) -> tuple[_R, Any]:
        selected = pick(name, args, argnums)
        leaves, in_tree = tree.flatten(selected)
        names = names_of(fun, in_tree, argnums)
        check_arrays("grad", fun, names, leaves)
        avals = [get_aval(x) for x in leaves]
        _check_inputs(name, names, selected, avals, holomorphic, allow_int)
        flat, trees = _flattened(
            lambda *xs: fun(*refill(args, argnums, xs), **kwargs), in_tree, has_aux, name
        )
        active = [differentiable(a) for a in avals]
        outs, linear = linearize_flat(flat, leaves, active, f"grad of '{name}'")
        out_tree, aux_tree = trees()
        aval = _check_scalar(name, outs[: out_tree.num_leaves], out_tree, holomorphic)
        cotangents = _pull_back(linear, [typed_number(1, aval), *[None] * (len(outs) - 1)], active)
        filled = [
            as_derivative(instantiate(c, a.with_cotangent_sharding()), a)
            for c, a in zip(cotangents, avals, strict=True)
        ]
        gradient = in_tree.unflatten(filled)
        gradient = gradient[0] if isinstance(argnums, int) else gradient
        value = out_tree.unflatten(outs[:1])
        if aux_tree is not None:
            value = value, aux_tree.unflatten(outs[1:])
        return value, gradient

    return valued


def grad(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[_P, Any]:
    """Return a function that returns the gradient of `fun` in `argnums`; see value_and_grad.

    With `has_aux` it returns (gradient, aux).

    >>> grad(lambda x: x**3)(2.0)
    Array(12., ...)
    """
    _refuse_reduce_axes("grad", reduce_axes)
    valued = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @derived(fun, "Gradient", argnums)
    def gradient(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        value, result = valued(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def _refuse_reduce_axes(name: str, reduce_axes: Sequence[Hashable]) -> None:
    if reduce_axes:
        raise UnsupportedError(f"reduce_axes argument to {name} is deprecated")


def _check_inputs(
    name: str,
    names: Sequence[str],
    selected: Any,
    avals: Sequence[ShapedArray],
    holomorphic: bool,
    allow_int: bool,
) -> None:
    for i, (where, aval) in enumerate(zip(names, avals, strict=True)):
        kind = dtypes.kind(aval.dtype)
        if holomorphic and kind != "c":
            raise TransformError(
                "grad with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtypes.long_name(aval.dtype)}: {where} of '{name}' is {aval.long_name()}"
            )
        if not holomorphic and kind in "bui" and not allow_int:
            raise TransformError(
                "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
                "np.inexact), but got "
                f"{data.key_dtype_names(selected)[i] or dtypes.long_name(aval.dtype)}. If you want "
                "to use Boolean- or integer-valued inputs, use vjp or set allow_int to True. "
                f"Here {where} of '{name}' is {aval.long_name()}",
                hint="cast it to a float, select others by argnums, or pass allow_int=True",
            )


#: the words of JAX's errors for results of integers and of complex numbers, before the function
_ALTERNATIVES = (
    "For differentiation of functions with integer outputs, ",
    "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
    "non-holomorphic functions involving complex outputs, ",
)


def _check_scalar(
    name: str, outs: Sequence[Any], out_tree: tree.PyTreeDef, holomorphic: bool
) -> ShapedArray:
    if out_tree != tree.structure(0):
        names = data.key_dtype_names(out_tree.unflatten(outs))
        if len(names) == 1 and names[0] is not None:
            raise TransformError(
                f"grad with output element type {names[0]}: '{name}' returned a random key"
            )
        raise TransformError(
            "Gradient only defined for scalar-output functions. Output was "
            f"{out_tree.unflatten([x.aval if isinstance(x, Array) else x for x in outs])}: "
            f"'{name}' returned {out_tree}",
            hint="return (scalar, rest) and pass has_aux=True to get other results out",
        )
    aval = get_aval(outs[0])
    if aval.shape:
        raise TransformError(
            "Gradient only defined for scalar-output functions. Output had shape: "
            f"{aval.shape}: '{name}' returned {aval.long_name()}",
            hint="sum or average the result, or use jacrev for all derivatives",
        )
    expected, kind = ("c", "complex") if holomorphic else ("f", "float")
    term = (
        "grad with holomorphic=True requires outputs with complex dtype"
        if holomorphic
        else "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating)"
    )
    if (dtype_kind := dtypes.kind(aval.dtype)) != expected:
        raise TransformError(
            f"{term}, but got {dtypes.long_name(aval.dtype)}. {_ALTERNATIVES[dtype_kind == 'c']}"
            f"use jax.vjp directly. Here '{name}' returned {aval.long_name()}",
            hint="for a complex-differentiable function pass holomorphic=True"
            if dtype_kind == "c"
            else f"return a {kind} scalar",
        )
    return aval


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Hashable] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a function linear in its arguments, at their shapes and dtypes.

    The transpose takes a cotangent of the result and returns a tuple with one for each argument.
    It is a tree (`tree_util.Partial`) whose leaves are the arrays that `fun` closes over.  Raises
    TransformError for a function whose primitives are not linear in the arguments, and
    UnsupportedError for `reduce_axes`.

    >>> linear_transpose(lambda x: 3 * x, 1.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    _refuse_reduce_axes("transpose", reduce_axes)
    leaves, in_tree = tree.flatten(primals)
    avals = [
        shaped(x.shape, x.dtype) if isinstance(x, ShapeDtypeStruct) else get_aval(x) for x in leaves
    ]
    flat, trees = _flattened(fun, in_tree, False, function_name(fun))
    program = stage(flat, [a.strip_weak() for a in avals], what=f"'{function_name(fun)}'")
    out_tree, _ = trees()
    _check_kinds(function_name(fun), avals, program.out_avals)

    def transposed(residuals: Sequence[Any], *cotangents: Any) -> tuple[Any, ...]:
        cotangent = _only("linear_transpose", cotangents)
        values, cotangent_tree = tree.flatten(cotangent)
        if cotangent_tree != out_tree:
            raise TransformError(
                f"cotangent tree does not match function output, expected {out_tree} but got "
                f"{cotangent_tree}: it is the argument of the function that linear_transpose "
                "returned"
            )
        _check_cotangents(values, program.out_avals)
        try:
            arg_cotangents = linear.having(residuals).transpose_whole(values)
        except (DTypeError, MissingRuleError) as e:
            used = "an operation uses an argument in which it is not linear"  # a `Linear` operand
            raise TransformError(
                f"linear_transpose needs a function that is linear in its arguments, and "
                f"'{function_name(fun)}' is not: {used if isinstance(e, DTypeError) else e}"
            ) from e
        result: tuple[Any, ...] = in_tree.unflatten(
            as_derivative(zeros_of(a) if c is None else c, a)
            for c, a in zip(arg_cotangents, avals, strict=True)
        )
        return result

    whole = LinearFunction(program, tuple(range(len(program.outvars))))
    linear = whole.having(())
    return tree.Partial(transposed, whole.residuals)


def _check_kinds(name: str, ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> None:
    """Raise TransformError unless all types are integers, or all are floats or complex."""
    if len({differentiable(a) for a in (*ins, *outs)}) > 1:
        raise TransformError(
            "linear_transpose only supports [float or complex] -> [float or complex], and integer "
            f"-> integer functions, but got {[a.dtype for a in ins]} -> {[a.dtype for a in outs]} "
            f"of '{name}'"
        )


def _check_cotangents(values: Sequence[Any], avals: Sequence[ShapedArray]) -> None:
    """Raise TransformError unless cotangents have the types of a linear function's results."""
    for i, (x, a) in enumerate(zip(values, avals, strict=True)):
        if (have := get_aval(x)).strip_weak() is not a.strip_weak():
            raise TransformError(
                f"cotangent type does not match function output, expected {a.long_name()} but got "
                f"{have.long_name()}: it is the cotangent of result {i} of linear_transpose"
            )
