"""Matrices of all derivatives: `jacfwd`, `jacrev`, `hessian`.

Each returns a function whose result has, for each pair of a result's leaf and an argument's leaf,
the array of all derivatives, of shape result + argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import TransformError
from olympus_core.base.source import function_name
from olympus_core.ir.primitive import op
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.primitives.dimension import dimension_as_value
from olympus_core.primitives.sharding import retyped
from olympus_core.transforms import data
from olympus_core.transforms.autodiff import jvp, vjp
from olympus_core.transforms.data import is_float0
from olympus_core.transforms.flat import (
    as_derivative,
    canonical_argnums,
    check_arrays,
    check_callable,
    check_positions,
    derived,
    names_of,
    pick,
    refill,
    zeros_of,
)
from olympus_core.transforms.vmapping import vmap

_P = ParamSpec("_P")


#: The kinds of dtype that a function takes, and their description.
_REAL = ("f", "real-valued {} ({} dtype that is a sub-dtype of np.floating)")
_INEXACT = ("fc", "real- or complex-valued {} ({} dtype that is a sub-dtype of np.inexact)")
_ANY = ("bufci", "")


def _check(
    name: str,
    what: str,
    role: str,
    value: Any,
    avals: Sequence[ShapedArray],
    holomorphic: bool,
    kinds: tuple[str, str] = _REAL,
) -> None:
    """Raise TransformError for inputs or outputs, which `role` is, of another kind of dtype."""
    function = "vjp" if role == "outputs" else "jvp"
    for i, aval in enumerate(avals):
        kind, dtype = dtypes.kind(aval.dtype), dtypes.long_name(aval.dtype)
        if holomorphic and kind != "c":
            raise TransformError(
                f"{what} with holomorphic=True requires {role} with complex dtype, but got "
                f"{dtype}: a value of '{name}' is {aval.long_name()}"
            )
        if not holomorphic and kind not in kinds[0]:
            key_dtype = data.key_dtype_names(value)[i]
            if key_dtype is not None and kinds == _REAL:
                raise TransformError(
                    f"{what} with {role.removesuffix('s')} element type {key_dtype}, in '{name}'"
                )
            advice = (
                "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
                f"non-holomorphic functions involving complex {role}"
                f"{' or integer inputs' if role == 'inputs' else ''}, use jax.{function} directly."
                if kinds == _REAL
                else "If you want to use Boolean- or integer-valued inputs, use vjp or set "
                "allow_int to True."
            )
            raise TransformError(
                f"{what} requires {kinds[1].format(role, role.removesuffix('s'))}, but got "
                f"{key_dtype or dtype}. {advice} Here a value of '{name}' is {aval.long_name()}"
            )


def _basis(avals: Sequence[ShapedArray]) -> list[Any]:
    """Return, for each leaf, its rows of the identity of all leaves together: (total, *shape).

    The dimensions of a leaf are split as those of its type.
    """
    total, start, rows = sum(a.size for a in avals), 0, []
    for aval in avals:
        row: Any
        if is_symbolic_dim(total):
            row = _symbolic_basis(total, start, aval)
        else:
            flat = np.zeros((total, aval.size), aval.dtype)
            flat[start + np.arange(aval.size), np.arange(aval.size)] = 1
            row = flat.reshape(total, *aval.shape)
        if aval.explicit is not None:
            spec = (None, *spec_of(aval))
            row = retyped(row, get_aval(row).with_sharding(aval.explicit.with_partitions(spec)))
        rows.append(row)
        start += aval.size
    return rows


def _symbolic_basis(total: int, start: Any, aval: ShapedArray) -> Any:
    """Return the rows of a leaf whose first element is element `start`, by a comparison."""
    shape, dtype = (total, aval.size), np.dtype("int32")
    row, column = (op.iota(shape=shape, dimension=i, dtype=dtype) for i in (0, 1))
    if is_symbolic_dim(start) or start:
        value = dimension_as_value(start) if is_symbolic_dim(start) else dtype.type(start)
        offset = op.convert_element_type(value, new_dtype=dtype, weak_type=False)
        offset = op.broadcast_in_dim(offset, shape=shape, broadcast_dimensions=())
        column = op.add(column, offset)
    flat = op.convert_element_type(op.eq(row, column), new_dtype=aval.dtype, weak_type=False)
    return op.reshape(flat, dimensions=None, new_sizes=(total, *aval.shape))


def _split_leaves(x: Any, axis: int, avals: Sequence[ShapedArray]) -> list[Any]:
    """Split an axis of all leaves' elements into one part for each leaf, with the leaf's shape."""
    shape = get_aval(x).shape
    pieces = op.split(x, sizes=tuple(a.size for a in avals), axis=axis)
    return [
        op.reshape(piece, dimensions=None, new_sizes=(*shape[:axis], *a.shape, *shape[axis + 1 :]))
        for piece, a in zip(pieces, avals, strict=True)
    ]


def jacfwd(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[_P, Any]:
    """Return the function of `fun`'s Jacobian, by columns in forward mode: best for few inputs.

    Raises TransformError for arguments that are not floats (complex with `holomorphic`).

    >>> jacfwd(lambda x: x * x)(array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    check_callable("jacfwd", fun)
    name = function_name(fun)
    argnums = canonical_argnums(f"argnums of the derivative of '{name}'", argnums)

    @derived(fun, "Jacobian", argnums)
    def jacobian(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        positions = (argnums,) if isinstance(argnums, int) else argnums
        check_positions(f"argnums of the derivative of '{name}'", positions, len(args))
        selected = pick(name, args, argnums)
        leaves, in_tree = tree.flatten(selected)
        check_arrays("jacfwd", fun, names_of(fun, in_tree, argnums), leaves)
        avals = [get_aval(x) for x in leaves]
        _check(name, "jacfwd", "inputs", selected, avals, holomorphic)

        def direction(*tangents: Any) -> Any:
            def partial(*xs: Any) -> Any:
                return fun(*refill(args, argnums, xs), **kwargs)

            return jvp(partial, selected, in_tree.unflatten(tangents), has_aux=has_aux)

        axes = (None, 0, None) if has_aux else (None, 0)
        result = vmap(direction, out_axes=axes)(*_basis(avals))
        outs = tree.leaves(result[0])
        columns, out_tree = tree.flatten(result[1])
        if holomorphic:
            _check(name, "jacfwd", "outputs", result[0], [get_aval(x) for x in outs], holomorphic)
        dense = [_data(c, get_aval(x)) for c, x in zip(columns, outs, strict=True)]
        placed = [as_derivative(_last(c), get_aval(x)) for c, x in zip(dense, outs, strict=True)]
        leaf_blocks = [_split_leaves(x, get_aval(x).ndim - 1, avals) for x in placed]
        matrix = _nested(out_tree, in_tree, leaf_blocks, isinstance(argnums, int))
        return (matrix, result[2]) if has_aux else matrix

    return jacobian


def _data(x: Any, aval: ShapedArray) -> Any:
    """Return the derivatives of a result; for an integer result, zeros of its dtype."""
    return zeros_of(aval.update(shape=x.shape, weak_type=False)) if is_float0(x) else x


def _last(x: Any) -> Any:
    """Return the array with its first axis last."""
    rank = get_aval(x).ndim
    return op.transpose(x, permutation=(*range(1, rank), 0))


def _nested(
    out_tree: tree.PyTreeDef, in_tree: tree.PyTreeDef, leaf_blocks: list[list[Any]], single: bool
) -> Any:
    """Return derivatives in the tree of the result, each in the tree of the arguments."""
    inner = [in_tree.unflatten(blocks) for blocks in leaf_blocks]
    return out_tree.unflatten([x[0] if single else x for x in inner])


def jacrev(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[_P, Any]:
    """Return the function of `fun`'s Jacobian, by rows in reverse mode: best for few outputs.

    Raises TransformError for arguments or results that are not floats (complex with
    `holomorphic`; integer arguments get zeros with `allow_int`).

    >>> jacrev(lambda x: x * x)(array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    check_callable("jacrev", fun)
    name = function_name(fun)
    argnums = canonical_argnums(f"argnums of the derivative of '{name}'", argnums)

    @derived(fun, "Jacobian", argnums)
    def jacobian(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        positions = (argnums,) if isinstance(argnums, int) else argnums
        check_positions(f"argnums of the derivative of '{name}'", positions, len(args))
        selected = pick(name, args, argnums)
        leaves, in_tree = tree.flatten(selected)
        check_arrays("jacrev", fun, names_of(fun, in_tree, argnums), leaves)
        avals = [get_aval(x) for x in leaves]
        kinds = _ANY if allow_int else _INEXACT
        _check(name, "jacrev", "inputs", selected, avals, holomorphic, kinds)

        def partial(*xs: Any) -> Any:
            return fun(*refill(args, argnums, xs), **kwargs)

        out, pull_back, *aux = vjp(partial, *selected, has_aux=has_aux)
        outs, out_tree = tree.flatten(out)
        out_avals = [get_aval(x) for x in outs]
        _check(name, "jacrev", "outputs", out, out_avals, holomorphic)

        def flat(*cotangents: Any) -> list[Any]:
            input_cotangents = tree.leaves(pull_back(out_tree.unflatten(cotangents)))
            return [
                c
                for c, a in zip(input_cotangents, avals, strict=True)
                if dtypes.kind(a.dtype) in "fc"
            ]

        rows = iter(vmap(flat)(*_basis(out_avals)))
        total = sum(a.size for a in out_avals)
        full = [
            as_derivative(
                next(rows)
                if dtypes.kind(a.dtype) in "fc"
                else zeros_of(a.update(shape=(total, *a.shape))),
                a,
            )
            for a in avals
        ]
        split_rows = [_split_leaves(x, 0, out_avals) for x in full]
        leaf_blocks = [[blocks[i] for blocks in split_rows] for i in range(len(outs))]
        matrix = _nested(out_tree, in_tree, leaf_blocks, isinstance(argnums, int))
        return (matrix, *aux) if has_aux else matrix

    return jacobian


def hessian(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[_P, Any]:
    """Return the function of `fun`'s second derivatives: forward mode over reverse mode.

    >>> hessian(lambda x: x @ x)(ones(2))
    Array([[2., 0.],
           [0., 2.]], dtype=float32)
    """
    inner = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic)
