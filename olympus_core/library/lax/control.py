"""Control flow on traced values: `cond`, `switch`, `while_loop`, `fori_loop`, `scan`, `map`.

`platform_dependent` selects a function by the platform that a program is lowered for.

Each function is staged once, and one equation is bound.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ArgumentError, DTypeError, TransformError
from olympus_core.base.source import function_name
from olympus_core.control.bodies import (
    Body,
    carry_name,
    carry_types,
    check_carry,
    convert_outputs,
    share_consts,
    stage_body,
    widen_carry,
)
from olympus_core.control.cond import Branches
from olympus_core.control.forwarding import bind_cond, bind_scan, bind_while
from olympus_core.control.platform import platform_dependent_p
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax import threading, unstaged
from olympus_core.library.lax.control_checks import (
    check_branches,
    check_callable,
    check_index,
    check_unroll,
    loop_bounds,
    predicate_type,
    scan_length,
)
from olympus_core.library.lax.shape import reshape
from olympus_core.library.lax.slicing import concatenate, slice_in_dim
from olympus_core.library.promotion import convert, convert_array
from olympus_core.primitives.elementwise.logic import ne_p
from olympus_core.primitives.elementwise.selection import clamp_p
from olympus_core.primitives.sharding import exactly_typed
from olympus_core.transforms import data, references
from olympus_core.transforms.vmapping import vmap

_T = TypeVar("_T")
_Carry = TypeVar("_Carry")
_Y = TypeVar("_Y")
_NONE_GIVEN: Any = object()
_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def _flatten_arrays(value: Any, what: str) -> tuple[list[Any], tree.PyTreeDef]:
    leaves, treedef = data.flatten_data(value)
    for x in leaves:
        try:
            get_aval(x)
        except DTypeError:
            raise DTypeError(
                f"Argument '{x!s:.60}' of type {type(x)} is not a valid JAX type: {what} must be "
                "arrays, scalars or containers of these"
            ) from None
    return leaves, treedef


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., _T],
    false_fun: Callable[..., _T],
    *operands: Any,
    operand: Any = ...,
) -> _T: ...
@overload
def cond(
    pred: ArrayLike,
    true_operand: Any,
    true_fun: Callable[[Any], _T],
    false_operand: Any,
    false_fun: Callable[[Any], _T],
    /,
) -> _T: ...
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _NONE_GIVEN,
) -> Any:
    """Return `true_fun(*operands)` if the scalar `pred`, else `false_fun(*operands)`.

    Only the selected function runs.  One operand may be named, `operand`.  With an operand for each
    function, the order is `cond(pred, true_operand, true_fun, false_operand, false_fun)`.
    Raises TransformError if the two return different structures or types.

    >>> x = array([1, -3])
    >>> cond(x.sum() > 0, lambda x: x, lambda x: -x, x)
    Array([-1,  3], dtype=int32)
    """
    if len(operands) == 2 and callable(false_fun) and callable(operands[1]):
        return _cond_of_two(pred, true_fun, false_fun, *operands)
    operands = _operands("cond", operands, operand)
    aval = predicate_type(pred)
    check_callable("cond", "true_fun and false_fun arguments", true_fun, false_fun)
    if unstaged.wanted(pred):
        return unstaged.branch(bool(pred), (false_fun, true_fun), operands)
    if aval.dtype != np.bool_:
        pred = ne_p.bind(pred, convert(0, aval.dtype, aval.weak_type))
    index = convert(pred, np.dtype("int32"))
    return _branch("cond", index, (false_fun, true_fun), operands)


def _cond_of_two(
    pred: Any,
    true_operand: Any,
    true_fun: Callable[..., Any],
    false_operand: Any,
    false_fun: Callable[..., Any],
) -> Any:
    def if_true(x: Any, _: Any) -> Any:
        return true_fun(x)

    def if_false(_: Any, x: Any) -> Any:
        return false_fun(x)

    return cond(pred, if_true, if_false, true_operand, false_operand)


def _operands(name: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """Return the operands, passed one by one or as the one `operand`, which may be None."""
    if operand is _NONE_GIVEN:
        return operands
    if operands:
        raise TransformError(
            "if 'operand' keyword is passed then no positional operands can be passed, and "
            f"{name} got both"
        )
    return (operand,)


def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., _T]],
    *operands: Any,
    operand: Any = _NONE_GIVEN,
) -> _T:
    """Return `branches[index](*operands)`, with the index clamped to the valid range.

    One operand may be named, `operand`.
    Raises TransformError if the branches return different structures or types.

    >>> switch(1, [lambda x: x, lambda x: -x], array([3, 4]))
    Array([-3, -4], dtype=int32)
    """
    operands = _operands("switch", operands, operand)
    check_index(index)
    branches = tuple(branches)
    for branch in branches:
        if not callable(branch):
            raise TransformError(
                "lax.switch: branches argument should be a sequence of callables, and has "
                f"{branch!r:.60}"
            )
    if not branches:
        raise TransformError("Empty branch sequence: switch needs at least one branch")
    if len(branches) == 1:
        return branches[0](*operands)
    if unstaged.wanted(index):
        return unstaged.branch(index, branches, operands)
    low, high = np.int32(0), np.int32(len(branches) - 1)
    index = clamp_p.bind(low, convert(index, np.dtype("int32")), high)
    return _branch("switch", index, tuple(branches), operands)


def _branch(
    name: str, index: Any, functions: Sequence[Callable[..., _T]], operands: tuple[Any, ...]
) -> _T:
    if references.exist() and (threaded := threading.of_branches(name, functions, operands)):
        functions, operands, write = threaded
        chosen: _T = write(_branch(name, index, functions, operands))
        return chosen
    branches, args, out_tree = stage_branches(name, functions, operands)
    result: _T = out_tree.unflatten(bind_cond(index, args, branches))
    return result


def stage_branches(
    name: str, functions: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> tuple[Branches, list[Any], tree.PyTreeDef]:
    """Stage functions as programs of the same operands and results.

    Return the programs, the operands, and the tree of the result.  Raises TransformError if the
    functions return different structures or types.
    """
    leaves, in_tree = _flatten_arrays(operands, f"the operands of {name}")
    avals = [get_aval(x) for x in leaves]
    order = -1 if name == "cond" else 1  # the function for True is traced first
    bodies = [stage_body(f, in_tree, avals, f"a branch of {name}") for f in functions[::order]]
    programs, consts = share_consts(bodies)
    bodies, programs = bodies[::order], programs[::order]
    check_branches(name, functions, bodies)
    joined = [_joined([b.out_avals[i] for b in bodies]) for i in range(len(bodies[0].out_avals))]
    branches = tuple(convert_outputs(p, joined) for p in programs)
    return branches, [*consts, *leaves], bodies[0].out_tree


def _joined(avals: Sequence[ShapedArray]) -> ShapedArray:
    joined = next((a for a in avals if a.explicit is not None), avals[0])
    return joined.update(weak_type=all(a.weak_type for a in avals))


def _arrays(value: Any, what: str) -> Any:
    """Return a tree of arrays and scalars with all leaves as arrays; messages name it `what`."""
    leaves, treedef = _flatten_arrays(value, what)
    avals = [get_aval(x) for x in leaves]
    return treedef.unflatten(
        convert_array(x, a.dtype, a.weak_type) for x, a in zip(leaves, avals, strict=True)
    )


@overload
def while_loop(
    cond_fun: Callable[[Array], ArrayLike],
    body_fun: Callable[[Array], ArrayLike],
    init_val: ArrayLike,
) -> Array: ...
@overload
def while_loop(
    cond_fun: Callable[[_T], ArrayLike], body_fun: Callable[[_T], _T], init_val: _T
) -> _T: ...
def while_loop(
    cond_fun: Callable[[Any], ArrayLike], body_fun: Callable[[Any], Any], init_val: ArrayLike | _T
) -> Array | _T:
    """Run `while cond_fun(val): val = body_fun(val)` from `init_val`; the types of `val` are fixed.

    Raises TransformError if the body changes the carry's structure or types, or the condition is
    not a scalar bool.

    >>> while_loop(lambda x: x < 100, lambda x: 2 * x, 3)
    Array(192, dtype=int32, weak_type=True)
    """
    check_callable("while_loop", "body_fun and cond_fun arguments", body_fun, cond_fun)
    end: Array | _T = _while("while_loop", cond_fun, body_fun, init_val, body_fun)
    return end


def _while(
    name: str,
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    of: Callable[..., Any],
) -> Any:
    """Return the loop's result; `of` is the user's function that `body_fun` calls."""
    if unstaged.wanted():
        result, cond_error = unstaged.repeat(cond_fun, body_fun, init_val)
        if result:
            return _arrays(cond_error, f"the carry of {name}")
    if references.exist() and (looped := threading.of_while(name, cond_fun, body_fun, init_val)):
        cond_fun, body_fun, init_val, end_loop = looped
        return end_loop(_while(name, cond_fun, body_fun, init_val, of))
    leaves, carry_tree = _flatten_arrays(init_val, f"the carry of {name}")
    in_tree = tree.treedef_tuple([carry_tree])
    avals = tuple(get_aval(x) for x in leaves)
    what = f"the body of {name}"
    body = stage_body(body_fun, in_tree, avals, what, of)
    if body.out_tree == carry_tree and (wide := widen_carry(avals, body.out_avals)) != avals:
        avals = wide
        body = stage_body(body_fun, in_tree, avals, what, of)
    title = f"{what}, '{function_name(of)}'"
    columns = carry_tree, avals, body.out_tree, body.out_avals
    check_carry("while_loop", title, carry_name(of, name), *columns)
    test = stage_body(cond_fun, in_tree, avals, f"the condition of {name}")
    if test.out_tree.node_data() is not None:
        raise TransformError(
            f"cond_fun must return a boolean scalar, but got pytree {test.out_tree}: it is the "
            f"condition of {name}"
        )
    same = [a.update(vma=frozenset(), weak_type=False) for a in test.out_avals]
    if [a.long_name() for a in same] != ["bool[]"]:
        raise TransformError(
            "cond_fun must return a boolean scalar, but got output type(s) "
            f"{[*test.out_avals]}: it is the condition of {name}"
        )
    carry = [_of_type(x, a) for x, a in zip(leaves, avals, strict=True)]
    outs = bind_while(
        [*test.consts, *body.consts, *carry],
        test.program,
        len(test.consts),
        convert_outputs(body.program, carry_types(avals, body.out_avals)),
        len(body.consts),
    )
    return carry_tree.unflatten(outs)


@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Array], ArrayLike],
    init_val: ArrayLike,
    *,
    unroll: int | bool | None = None,
) -> Array: ...
@overload
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, _T], _T],
    init_val: _T,
    *,
    unroll: int | bool | None = None,
) -> _T: ...
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Run `for i in range(lower, upper): val = body_fun(i, val)` from `init_val`.

    With Python bounds the number of iterations is fixed, and the loop is a `scan`; with traced ones
    it is a `while_loop`, which takes no `unroll`.

    >>> fori_loop(0, 4, lambda i, total: total + i, 0)
    Array(6, dtype=int32, weak_type=True)
    """
    check_callable("fori_loop", "body_fun argument", body_fun)
    if unroll is not None:
        check_unroll("fori_loop", unroll)
    bounds: tuple[Any, Any] = loop_bounds(lower, upper)
    lower, upper = bounds
    try:
        first, last = operator.index(bounds[0]), operator.index(bounds[1])
    except TypeError:
        if unroll is not None:
            raise TransformError(
                "Can only use `unroll` in `fori_loop` if the loop bounds are statically known"
            ) from None
        return _dynamic_fori(lower, upper, body_fun, init_val)

    def step(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        i, value = carry
        return (i + 1, body_fun(i, value)), None

    if last <= first:
        return _arrays(init_val, "the carry of fori_loop")
    unrolled = 1 if unroll is None else unroll
    traced = isinstance(lower, Array) and not trace.at_base()  # a Python index is weakly typed
    carry, length = (lower if traced else first, init_val), last - first
    (_, end), _ = _fold("fori_loop", step, carry, None, length, unroll=unrolled, of=body_fun)
    return end


def _dynamic_fori(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any
) -> Any:
    def step(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        i, stop, value = carry
        return i + 1, stop, body_fun(i, value)

    start = (lower, upper, init_val)
    return _while("fori_loop", _before_end, step, start, body_fun)[2]


def _before_end(carry: tuple[Any, Any, Any]) -> Any:
    return carry[0] < carry[1]


@overload
def scan(
    f: Callable[[Array, Any], tuple[ArrayLike, _Y]],
    init: ArrayLike,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Array, _Y]: ...
@overload
def scan(
    f: Callable[[_Carry, Any], tuple[_Carry, _Y]],
    init: _Carry,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[_Carry, _Y]: ...
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Fold `f(carry, x) -> (carry, y)` over the leading axes of `xs`; return (carry, stacked ys).

    `length` is needed if `xs` has no arrays.  Each iteration of the loop runs `unroll` steps (True:
    all).  `_split_transpose`, a hint on memory, has no effect.
    Raises ShapeError for leading axes that differ, TransformError if `f` changes the carry's
    structure or types.

    >>> scan(lambda c, x: (c + x, c), 0.0, ox.numpy.arange(3.0))
    (Array(3., dtype=float32), Array([0., 0., 1.], dtype=float32, weak_type=True))
    """
    check_callable("scan", "f argument", f)
    check_unroll("scan", unroll)
    return _fold("scan", f, init, xs, length, reverse, unroll)


def _fold(
    name: str,
    f: Callable[[_Carry, Any], tuple[_Carry, _Y]],
    init: _Carry,
    xs: Any,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    of: Callable[..., Any] | None = None,
) -> tuple[_Carry, _Y]:
    """Run `scan` for the function `name`; `of` is the user's function that `f` calls."""
    if references.exist() and (threaded := threading.of_fold(name, f, init, xs, of or f)):
        f, init, xs, write = threaded
        end, ys = _fold(name, f, init, xs, length, reverse, unroll, of)
        folded: tuple[_Carry, _Y] = write(end, ys)
        return folded
    init_leaves, carry_tree = _flatten_arrays(init, f"the carry of {name}")
    x_leaves, xs_tree = _flatten_arrays(data.unstack_float0(xs), f"the xs of {name}")
    count = scan_length(x_leaves, xs_tree, length)
    if unstaged.wanted():
        if not count:
            raise TransformError(
                "zero-length scan is not supported in disable_jit() mode because the output type "
                f"is unknown: the xs of {name} have no rows"
            )
        end, ys = unstaged.fold(f, init, xs, count, reverse)
        return _arrays(end, f"the carry of {name}"), ys
    in_tree = tree.treedef_tuple([carry_tree, xs_tree])
    x_avals = [_row(name, x) for x in x_leaves]
    carry = tuple(get_aval(x) for x in init_leaves)
    body, carry = _scan_body(name, f, in_tree, carry_tree, carry, x_avals, of or f)
    n = len(carry)
    avals = body.out_avals
    program = convert_outputs(body.program, (*carry_types(carry, avals[:n]), *avals[n:]))
    start = [_of_type(x, a) for x, a in zip(init_leaves, carry, strict=True)]
    outs = bind_scan(
        [*body.consts, *start, *x_leaves],
        program,
        length=count,
        num_carry=n,
        num_consts=len(body.consts),
        reverse=bool(reverse),
        unroll=max(count, 1) if unroll is True else max(int(unroll), 1),
    )
    ys = body.out_tree.children()[1].unflatten(outs[n:])
    return carry_tree.unflatten(outs[:n]), data.stack_float0(ys, count)


def _of_type(x: Any, aval: ShapedArray) -> Any:
    """Return an initial value as an array of the carry's type."""
    return exactly_typed(convert(x, aval.dtype, aval.weak_type), aval)


def _row(name: str, x: Any) -> ShapedArray:
    aval = get_aval(x)
    if aval.explicit is not None and aval.explicit.spec.partitions[0] is not None:
        raise TransformError(
            f"0th dimension of all xs should be replicated. Got {aval.explicit.spec}: it is that "
            f"of {aval.long_name()} in xs of {name}",
            hint="reshard it, as by olympus.sharding.reshard(x, P(None, ...))",
        )
    return aval.without_axis(0)


def _scan_body(
    name: str,
    f: Callable[..., Any],
    in_tree: tree.PyTreeDef,
    carry_tree: tree.PyTreeDef,
    carry: tuple[ShapedArray, ...],
    x_avals: Sequence[ShapedArray],
    of: Callable[..., Any],
) -> tuple[Body, tuple[ShapedArray, ...]]:
    what, n, carry_avals = f"the body of {name}", len(carry), carry
    title = f"{what}, '{function_name(of)}'"
    while True:
        body = stage_body(f, in_tree, (*carry, *x_avals), what, of)
        out_trees = body.out_tree.children()
        if body.out_tree.node_data() is None or len(out_trees) != 2:
            raise TransformError(
                "scan body output must be a pair, got "
                f"{body.out_tree.unflatten(body.out_avals)}: {title}, must return (carry, y)"
            )
        if out_trees[0] != carry_tree or carry is not carry_avals:
            break
        if (wide := widen_carry(carry, body.out_avals[:n])) == carry:
            break
        carry = wide
    out_avals = body.out_avals[: out_trees[0].num_leaves]
    columns = carry_tree, carry, out_trees[0], out_avals
    check_carry("scan", title, carry_name(of, name), *columns)
    return body, carry


@overload
def map(f: Callable[[Any], ArrayLike], xs: Any, *, batch_size: int | None = None) -> Array: ...
@overload
def map(f: Callable[[Any], _T], xs: Any, *, batch_size: int | None = None) -> _T: ...
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply `f` to each row of `xs` in sequence, and stack the results.

    With a `batch_size`, `vmap` maps that many rows together, and the remaining rows too.

    >>> map(lambda x: x * x, array([1, 2, 3]))
    Array([1, 4, 9], dtype=int32)
    """
    if not batch_size:
        return _fold("map", lambda _, x: ((), f(x)), (), xs, of=f)[1]
    leaves, xs_tree = _flatten_arrays(xs, "the xs of map")
    count = scan_length(leaves, xs_tree, None)
    batched_length = count - count % batch_size
    batches = [
        reshape(
            slice_in_dim(x, 0, batched_length),
            (batched_length // batch_size, batch_size, *get_aval(x).shape[1:]),
        )
        for x in leaves
    ]
    batched_function = vmap(f)
    _, batched = _fold(
        "map in batches",
        lambda _, x: ((), batched_function(x)),
        (),
        xs_tree.unflatten(batches),
        of=f,
    )
    ys = tree.map(lambda y: reshape(y, (batched_length, *y.shape[2:])), batched)
    if batched_length == count:
        return ys
    remainder = batched_function(
        xs_tree.unflatten(slice_in_dim(x, batched_length, count) for x in leaves)
    )
    return tree.map(lambda y, r: concatenate([y, r], 0), ys, remainder)


def platform_dependent(
    *args: Any,
    default: Callable[..., _T] | None = None,
    **per_platform: Callable[..., _T] | None,
) -> _T:
    """Return the result of the function for the platform that the program is lowered for.

    per_platform: functions by the name of a platform: cpu, cuda, rocm or tpu; the GPU targets of
    OLYMPUS have the platform cuda.  default: the function for all other platforms.  Every function
    is traced; only the one for the target is lowered.

    Raises ArgumentError for another platform or for no function, TransformError if the functions
    return different structures or types, and, when the program is lowered, LoweringError if no
    function is for the platform.

    >>> platform_dependent(3.0, cpu=lambda x: x + 1, default=lambda x: x - 1)
    Array(4., dtype=float32, weak_type=True)
    """
    named_functions = {name: f for name, f in per_platform.items() if f is not None}
    for name in named_functions:
        if name not in _PLATFORMS:
            raise ArgumentError(
                f"platform_dependent takes the platforms {', '.join(_PLATFORMS)}, and got {name!r}"
            )
    functions = [*named_functions.values(), *([] if default is None else [default])]
    if not functions:
        raise ArgumentError("platform_dependent needs a function, and got none")
    branches, operands, out_tree = stage_branches("platform_dependent", functions, args)
    platforms = (*((name,) for name in named_functions), *(() if default is None else (None,)))
    unused = np.int32(0)
    outs = platform_dependent_p.bind(unused, *operands, branches=branches, platforms=platforms)
    result: _T = out_tree.unflatten(outs)
    return result
