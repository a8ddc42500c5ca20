"""`sparsify`: functions of dense arrays applied to sparse ones, operation by operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import source, tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.errors import UnsupportedError
from olympus_core.base.source import function_name
from olympus_core.ir.olympuspr import Literal, Olympuspr
from olympus_core.library.sparse.base import JAXSparse
from olympus_core.library.sparse.compressed import BCSR
from olympus_core.library.sparse.coordinates import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_transpose,
    with_data,
)
from olympus_core.library.sparse.products import bcoo_dot_general
from olympus_core.library.sparse.shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
)
from olympus_core.transforms.staging import stage

#: operations whose result is 0 for 0: they apply to the elements
_LINEAR = ("neg", "real", "imag", "copy", "reduce_precision")
_OF_ZERO = (
    *("abs", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "expm1", "floor", "log1p", "round"),
    *("sign", "sin", "sinh", "sqrt", "tan", "tanh", "square"),
)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _coordinates(x: Any) -> Any:
    """Return a sparse array as BCOO; a dense one as it is."""
    if isinstance(x, BCSR):
        return x.to_bcoo()
    if _is_sparse(x) and not isinstance(x, BCOO):
        raise UnsupportedError(f"sparsify supports BCOO and BCSR arrays, not {type(x).__name__}")
    return x


def _bind(primitive: Any, inputs: Sequence[Any], params: Any) -> Any:
    return primitive.bind(*inputs, **params)


def _of_elements(primitive: Any, inputs: Sequence[Any], params: Any, is_linear: bool) -> Any:
    """Return an operation on each element; equal indices are summed first unless it is linear."""
    (x,) = inputs
    if not (is_linear or x.unique_indices):
        x = bcoo_sum_duplicates(x, nse=x.nse)
    return with_data(x, primitive.bind(x.data, **params))


def _sum(inputs: Sequence[Any], sign: int) -> Any:
    x, y = inputs
    if not _is_sparse(x) or not _is_sparse(y):
        raise UnsupportedError("sparsify does not support the sum of a sparse and a dense array")
    if x.shape != y.shape:
        raise UnsupportedError("Addition between sparse matrices of different shapes.")
    return x + (y if sign > 0 else -y)


def _product(inputs: Sequence[Any]) -> Any:
    x, y = inputs
    return x * y if _is_sparse(x) else y * x


def _quotient(inputs: Sequence[Any]) -> Any:
    x, y = inputs
    if _is_sparse(y):
        raise UnsupportedError("Division by a sparse array.")
    return x / y


_RULES: dict[str, Callable[[Sequence[Any], Any], Any]] = {
    "add": lambda inputs, p: _sum(inputs, 1),
    "sub": lambda inputs, p: _sum(inputs, -1),
    "mul": lambda inputs, p: _product(inputs),
    "div": lambda inputs, p: _quotient(inputs),
    "convert_element_type": lambda inputs, p: inputs[0].astype(p["new_dtype"]),
    "dot_general": lambda inputs, p: bcoo_dot_general(
        *inputs,
        dimension_numbers=p["dimension_numbers"],
        preferred_element_type=p["preferred_element_type"],
    ),
    "transpose": lambda inputs, p: bcoo_transpose(inputs[0], permutation=p["permutation"]),
    "reduce_sum": lambda inputs, p: bcoo_reduce_sum(inputs[0], axes=p["axes"]),
    "reshape": lambda inputs, p: bcoo_reshape(
        inputs[0], new_sizes=p["new_sizes"], dimensions=p["dimensions"]
    ),
    "broadcast_in_dim": lambda inputs, p: bcoo_broadcast_in_dim(
        inputs[0], shape=p["shape"], broadcast_dimensions=p["broadcast_dimensions"]
    ),
    "concatenate": lambda inputs, p: bcoo_concatenate(inputs, dimension=p["dimension"]),
    "slice": lambda inputs, p: bcoo_slice(inputs[0], **p),
    "dynamic_slice": lambda inputs, p: bcoo_dynamic_slice(inputs[0], inputs[1:], p["slice_sizes"]),
    "squeeze": lambda inputs, p: bcoo_squeeze(inputs[0], dimensions=p["dimensions"]),
    "rev": lambda inputs, p: bcoo_rev(inputs[0], p["dimensions"]),
}


def _applied(primitive: Any, inputs: Sequence[Any], params: Any) -> Any:
    """Return the result of an operation of which some operands are sparse."""
    name, operands = primitive.name, [_coordinates(x) for x in inputs]
    if name in _LINEAR or name in _OF_ZERO:
        return _of_elements(primitive, operands, params, name in _LINEAR)
    if name == "integer_pow":
        if params["y"] <= 0:
            raise UnsupportedError("sparsify supports only positive integer powers")
        return _of_elements(primitive, operands, params, params["y"] == 1)
    if name == "jit":
        return _evaluated(params["olympuspr"], operands)
    if name not in _RULES:
        raise UnsupportedError(
            f"sparse rule for {name} is not implemented",
            hint="convert the array with todense before this operation",
        )
    return _RULES[name](operands, params)


def _evaluated(program: Olympuspr, args: Sequence[Any]) -> list[Any]:
    """Apply a program to values of which some are sparse."""
    env: dict[Any, Any] = dict(zip(program.invars, args, strict=True))
    env.update(zip(program.constvars, program.consts, strict=True))

    def read(atom: Any) -> Any:
        return atom.value if isinstance(atom, Literal) else env[atom]

    for eqn in program.eqns:
        inputs = [read(atom) for atom in eqn.inputs]
        with source.using_location(eqn.source):
            apply = _applied if any(map(_is_sparse, inputs)) else _bind
            out = apply(eqn.primitive, inputs, eqn.params)
        env.update(zip(eqn.outputs, out if eqn.primitive.multiple_results else [out], strict=True))
    return [read(atom) for atom in program.outvars]


def _aval(x: Any) -> ShapedArray:
    return shaped(x.shape, x.dtype) if _is_sparse(x) else get_aval(x)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return the function `f` for sparse arguments, written for dense ones.

    The function is staged for dense arrays of the shapes of its arguments, and each operation is
    applied to the sparse ones: products, sums, shapes, slices, and operations of elements whose
    result is 0 for 0. Results that are sparse are BCOO. `use_tracer` has no effect.

    The function raises UnsupportedError for another operation on a sparse array.

    >>> from olympus.experimental import sparse
    >>> mat = sparse.BCOO.fromdense(array([[0.0, 1.0], [2.0, 0.0]]))
    >>> sparsify(lambda x, y: sin(x).T @ y)(mat, array([1.0, 2.0]))
    Array([1.8185948 , 0.84147096], dtype=float32)
    """

    @functools.wraps(f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = tree.flatten((args, kwargs), is_leaf=_is_sparse)
        out_trees: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            given, named = treedef.unflatten(values)
            outs, out_tree = tree.flatten(f(*given, **named))
            out_trees.append(out_tree)
            return outs

        program = stage(flat, [_aval(x) for x in leaves], what=f"'{function_name(f)}'")
        return out_trees[-1].unflatten(_evaluated(program, leaves))

    return sparsified
