"""Errors have JAX's class and contain JAX's term, so that programs which match them work."""

# ruff: noqa: E501 - terms are not split into lines

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import jax
import jax.experimental.random
import jax.numpy
import numpy as np
import pytest

import olympus
import olympus.experimental.random
import olympus.numpy

GENERATORS = {jax: jax.experimental.random, olympus: olympus.experimental.random}

#: an expression, the class of its error, and the term that both messages contain
TERMS = [
    (
        "lax.add(f(3), f(2))",
        TypeError,
        r"add got incompatible shapes for broadcasting: \(3,\), \(2,\)",
    ),
    (
        "jnp.add(f(3), f(2))",
        TypeError,
        r"add got incompatible shapes for broadcasting: \(3,\), \(2,\)",
    ),
    (
        "lax.add(f(3), f(1, 3))",
        TypeError,
        r"add: arrays must have the same number of dimensions, got \{1, 2\}",
    ),
    ("lax.pad(f(3), f(3), [(0, 0, 0)])", ValueError, "scalar"),
    ("lax.reduce_precision(f(3), 5.0, 10)", TypeError, "'float' object cannot be interpreted as"),
    ("jnp.gcd(f(3), 2)", ValueError, "Arguments to jax.numpy.gcd must be integers"),
    ("jnp.lcm(i(3), 2.5)", ValueError, "Arguments to jax.numpy.lcm must be integers"),
    ("jnp.ldexp(f(3), 2.5)", ValueError, "ldexp not supported for input types"),
    ("jnp.hypot(1j, f(3))", ValueError, "complex"),
    ("jnp.median(f(3) * 1j)", ValueError, "quantile does not support complex input"),
    ("jnp.std(f(3), dtype='int32')", ValueError, "must be inexact; got int32"),
    ("jnp.median(f(3), overwrite_input=True)", ValueError, "overwrite_input=True or out != None"),
    (
        "jnp.quantile(f(3), 0.5, weights=f(3))",
        NotImplementedError,
        "linear doesn't support weights",
    ),
    (
        "jnp.histogram_bin_edges(f(3), bins='auto')",
        NotImplementedError,
        "string values for `bins` not implemented",
    ),
    (
        "jnp.fill_diagonal(f(4, 3), 1, wrap=True, inplace=False)",
        NotImplementedError,
        "wrap=True is not implemented",
    ),
    (
        "grad(lambda x: lax.linalg.hessenberg(x)[0].sum())(f(3, 3))",
        NotImplementedError,
        "Differentiation rule for 'hessenberg' not implemented",
    ),
    ("jnp.linalg.qr(f(5, 6).astype('float16'))", NotImplementedError, "Unsupported dtype float16"),
    (
        "lax.broadcast_shapes((2,), (3,))",
        ValueError,
        r"Incompatible shapes for broadcasting: shapes=\[\(2,\), \(3,\)\]",
    ),
    (
        "lax.add(f(3), i(3))",
        TypeError,
        r"lax.add requires arguments to have the same dtypes, got float32, int32. \(Tip: jnp.add is",
    ),
    (
        "lax.sin(i(3))",
        TypeError,
        "sin does not accept dtype int32. Accepted dtypes are subtypes of floating, complexfloating",
    ),
    ("lax.bitwise_and(f(3), f(3))", TypeError, "and does not accept dtype float32 at position 0"),
    (
        "jnp.add(f(3), [1])",
        TypeError,
        r"add requires ndarray or scalar arguments, got <class 'list'> at position 1",
    ),
    (
        "jnp.sum([1, 2])",
        TypeError,
        r"sum requires ndarray or scalar arguments, got <class 'list'> at position 0",
    ),
    (
        "lax.concatenate([f(2), f(2, 2)], 0)",
        TypeError,
        r"Cannot concatenate arrays with different numbers of dimensions: got \(2,\), \(2, 2\)",
    ),
    (
        "lax.concatenate([f(2, 3), f(2, 2)], 0)",
        TypeError,
        "shapes that differ in dimensions other than the one being concatenated",
    ),
    ("jnp.stack([f(2), f(3)])", ValueError, "All input arrays must have the same shape"),
    (
        "lax.squeeze(f(2, 1), (0,))",
        ValueError,
        r"cannot select an axis to squeeze out which has size not equal to one, got shape=\(2, 1\) and dimensions=\(0,\)",
    ),
    (
        "lax.transpose(f(2, 3), (0,))",
        TypeError,
        r"transpose permutation isn't a permutation of operand dimensions, got permutation \(0,\) for operand shape \(2, 3\)",
    ),
    (
        "lax.broadcast_in_dim(f(2, 3), (2,), (0, 1))",
        TypeError,
        "target broadcast shape must have equal or higher rank to the operand shape",
    ),
    (
        "lax.broadcast_in_dim(f(2, 3), (2, 3), (0,))",
        TypeError,
        "broadcast_dimensions must have length equal to operand ndim",
    ),
    (
        "lax.broadcast_in_dim(f(2, 3), (2, 3), (0, 2))",
        TypeError,
        "broadcast_dimensions must be a subset of output dimensions",
    ),
    (
        "lax.broadcast_in_dim(f(2, 3), (2, 4), (0, 1))",
        TypeError,
        "operand dimension sizes must either be 1, or be equal to their corresponding dimensions",
    ),
    (
        "lax.select(b(3), f(3), f(2))",
        TypeError,
        r"select cases must have the same shapes, got \[\(2,\), \(3,\)\]",
    ),
    ("lax.select(b(2), f(3), f(3))", TypeError, r"got `which` shape \(2,\) but case shape \(3,\)"),
    ("lax.select(f(3), f(3), f(3))", TypeError, "select `which` must be boolean or int"),
    (
        "lax.select_n(b(3), f(3), f(3), f(3))",
        TypeError,
        "select with boolean `which` cannot have > 2 cases",
    ),
    (
        "lax.sort([f(2), f(3)])",
        TypeError,
        r"Arguments to sort must have equal shapes, got: \(2,\) \(3,\)",
    ),
    (
        "lax.sort([f(2), f(2)], num_keys=3)",
        ValueError,
        r"num_keys=3 must be between 1 and len\(operand\)=2",
    ),
    (
        "lax.dot_general(f(2, 3), f(2, 3), (((1,), (0,)), ((), ())))",
        TypeError,
        r"dot_general requires contracting dimensions to have the same shape, got \(3,\) and \(2,\)",
    ),
    (
        "lax.dot_general(f(2, 3), f(2, 3), (((1, 1), (1, 1)), ((), ())))",
        TypeError,
        r"dot_general requires lhs contracting dimensions to be distinct, got lhs_contracting \(1, 1\)",
    ),
    (
        "lax.dot_general(f(2, 3), f(2, 3), (((2,), (1,)), ((), ())))",
        TypeError,
        "lhs dimension numbers to be nonnegative and less than the number of axes of the lhs value",
    ),
    (
        "lax.dot_general(f(2, 3), f(2, 3), (((1,), (1,)), ((1,), (1,))))",
        TypeError,
        "lhs batch dimensions to be disjoint from contracting dimensions",
    ),
    (
        "lax.reduce_sum(f(3), (1,))",
        ValueError,
        r"axes \(1,\) contains out-of-bounds indices for float32\[3\]",
    ),
    ("lax.reduce_sum(f(3, 3), (0, 0))", ValueError, "duplicate value in 'axes' of "),
    (
        "jnp.reshape(f(6), (4,))",
        TypeError,
        r"cannot reshape array of shape \(6,\) \(size 6\) into shape \(4,\) \(size 4\)",
    ),
    (
        "jnp.reshape(f(6), (-1, -1))",
        TypeError,
        r"can only specify one unknown axis size with a `-1` value, got \(-1, -1\)",
    ),
    ("jnp.concatenate([])", ValueError, "Need at least one array to concatenate"),
    ("jnp.argmax(f(0))", ValueError, "attempt to get argmax of an empty sequence"),
    (
        "jnp.max(f(0))",
        ValueError,
        "zero-size array to reduction operation max which has no identity",
    ),
    (
        "jnp.matmul(f(2, 3), f(2, 3))",
        TypeError,
        r"dot_general requires contracting dimensions to have the same shape, got \(3,\) and \(2,\)",
    ),
    (
        "jnp.matmul(f(), f(2, 3))",
        ValueError,
        "matmul input operand 0 must have ndim at least 1, but it has ndim 0",
    ),
    (
        "jnp.where(b(2), f(3), f(3))",
        ValueError,
        r"Incompatible shapes for broadcasting: shapes=\[\(2,\), \(3,\), \(3,\)\]",
    ),
    ("f(3)[0, 0]", IndexError, "Too many indices: array is 1-dimensional, but 2 were indexed"),
    (
        "f(3)[f(2)]",
        TypeError,
        "Indexer must have integer or boolean type, got indexer with type float32",
    ),
    (
        "f(3)[b(2)]",
        IndexError,
        r"boolean index did not match shape of indexed array in index 0: got \(2,\), expected",
    ),
    ("f(3)['a']", TypeError, "support string indexing; got idx='a'"),
    ("f(3)[..., ...]", IndexError, r"an index can only have a single ellipsis \('...'\)"),
    (
        "f(3).__setitem__(0, 1)",
        TypeError,
        "arrays are immutable and do not support in-place item assignment",
    ),
    ("jnp.array(object())", TypeError, "with dtype object is not a valid JAX array type"),
    ("list(f())", TypeError, "iteration over a 0-d array"),
    ("len(f())", TypeError, r"len\(\) of unsized object"),
    ("jnp.sum(f(3), axis=1)", ValueError, "axis 1 is out of bounds for array of dimension 1"),
    ("jnp.sum(f(3, 3), axis=(0, 0))", ValueError, r"duplicate value in 'axis': \(0, 0\)"),
    (
        "random.uniform(key, dtype=int)",
        ValueError,
        "argument to `uniform` must be a float dtype, got",
    ),
    ("random.bits(key, dtype='int8')", ValueError, "must be an unsigned int dtype, got int8"),
    ("random.geometric(key, 0.5, dtype='bool')", ValueError, "must be an int dtype, got bool"),
    ("random.choice(key, 0, (2,))", ValueError, "a must be greater than 0 unless no samples"),
    (
        "random.choice(key, 5, (2,), p=f(4))",
        ValueError,
        "p must be None or a 1D vector with the same",
    ),
    (
        "random.choice(key, 2, (3,), False)",
        ValueError,
        r"a larger sample \(size 3\) than population",
    ),
    ("random.dirichlet(key, 1.0)", ValueError, r"requires alpha.ndim >= 1, got alpha.ndim == 0"),
    ("random.key(0, impl='x')", ValueError, 'unrecognized PRNG implementation "x"'),
    (
        "random.multivariate_normal(key, f(2), f(3, 3))",
        ValueError,
        r"requires cov.shape == \(..., n, n\) for n=2, but got cov.shape == \(3, 3\)",
    ),
    (
        "random.multivariate_normal(key, f(3), f(3))",
        ValueError,
        "multivariate_normal requires cov.ndim >= 2, got cov.ndim == 1",
    ),
    (
        "random.normal(jnp.zeros(3, 'uint32'))",
        TypeError,
        r"JAX encountered invalid PRNG key data: expected key_data.shape to end with \(2,\)",
    ),
    ("jnp.add(1, 2, out=0)", NotImplementedError, "out argument of <jnp.ufunc 'add'>"),
    ("jnp.add(1, 2, where=True)", NotImplementedError, "where argument of <jnp.ufunc 'add'>"),
    ("jnp.add.at(f(3), 0, 1.0)", NotImplementedError, r"jnp.ufunc.at\(\) cannot operate inplace"),
    ("jnp.subtract.reduce(f(2, 2), axis=(0, 1))", NotImplementedError, "tuple of axes"),
    ("jnp.maximum.reduce(f(2), where=f(2) > 0)", ValueError, "'maximum' does not have an identity"),
    ("jnp.add.reduceat(f(8), i(1, 2))", ValueError, "indices must be one-dimensional, got"),
    ("random.normal(1)", TypeError, "JAX encountered invalid PRNG key data: expected key_data"),
    ("random.permutation(key, 2.5)", TypeError, "must be an integer or at least 1-dimensional"),
    ("generators.stateful_rng(0).split(2).key()", ValueError, "cannot operate on split stateful"),
    (
        "generators.StatefulPRNG(0, 1)",
        ValueError,
        "Expected base_key to be a typed PRNG key; got 0",
    ),
    (
        "jit(lambda: generators.stateful_rng().key())()",
        TypeError,
        r"stateful_rng\(\) requires an explicit seed to be set",
    ),
    *[
        (f"key.{call}", NotImplementedError, "Cannot call abstract method")
        for call in ("astype('float32')", "sum()", "clip(0, 1)")
    ],
    ("key.unknown", AttributeError, "object has no attribute 'unknown'"),
    ("len(key)", TypeError, r"len\(\) of unsized object"),
    ("list(key)", TypeError, "iteration over a 0-d key array"),
    ("key[0]", IndexError, "Too many indices: array is 0-dimensional, but 1 were indexed"),
    ("key == 1", TypeError, "equal does not accept dtypes key<fry>, int32"),
    ("key & 1", TypeError, "bitwise_and does not accept dtypes key<fry>, int32"),
    ("np.asarray(key)", TypeError, "cannot be converted to a NumPy array. Use jax.random"),
    (
        "random.randint(key, (3,), 0, 9, 'float32')",
        TypeError,
        "randint only accepts integer dtypes",
    ),
    ("random.gumbel(key, mode='x')", ValueError, "Must provide valid mode for gumbel got: x"),
    ("random.categorical(key, f(3), axis=2)", IndexError, "axis"),
    *[
        (expression, RuntimeError, "Unrecognized padding type: expected 'VALID', 'SAME', or")
        for expression in (
            "lax.conv(f(1, 1, 4, 4), f(1, 1, 3, 3), (1, 1), 'BAD')",
            "lax.reduce_window(f(4), 0.0, lax.add, (2,), (1,), 'BAD')",
            "lax.padtype_to_pads((4,), (3,), (1,), 'BAD')",
        )
    ],
    ("jit(lambda x: x).trace(SDS((3,), None))", ValueError, "dtype must be specified"),
    ("jnp.var(f(3), ddof=1, correction=1)", ValueError, "can't be provided simultaneously"),
    ("jnp.array(None)", ValueError, "None is not a valid value for jnp.array"),
    ("jnp.array([None, 1])", ValueError, "None is not a valid value for jnp.array"),
    ("jnp.array(f(2), order='F')", NotImplementedError, "Only implemented for order='K'"),
    ("jnp.choose(jnp.array([0, 5]), [f(2), f(2)])", ValueError, "invalid entry in choice array"),
    ("jnp.take(f(3), 0, mode='raise')", NotImplementedError, "The 'raise' mode to .*take is not"),
    ("jnp.take(f(3), 1.0)", ValueError, "indices must have an integer type"),
    ("jnp.sort(f(3), kind='quicksort')", TypeError, "'kind' argument to sort is not supported"),
    ("jnp.sort(f(3), order='a')", TypeError, "'order' argument to sort is not supported"),
    ("jnp.round(i(3), -2)", NotImplementedError, "not implemented for decimals < 0"),
    ("jnp.clip(1j, 0, 1)", ValueError, "Clip received a complex value"),
    ("jnp.gcd(1.0, 2.0)", ValueError, "Arguments to jax.numpy.gcd must be integers"),
    ("jnp.iinfo('float32')", ValueError, "Invalid integer data type 'f'"),
    ("jnp.finfo('int32')", ValueError, "data type .* not (inexact|compatible with finfo)"),
    ("jnp.pad(f(3), 1, mode='bad')", NotImplementedError, "Unimplemented padding mode 'bad' for"),
    ("lax.approx_max_k(i(3), 2)", ValueError, "operand must be a floating type"),
    ("lax.approx_min_k(i(3), 2)", ValueError, "operand must be a floating type"),
    ("lax.approx_min_k(f(3), 4)", ValueError, "k must be smaller than the size of reduction_dim 3"),
    ("lax.approx_max_k(f(3), 0)", ValueError, "k must be positive, got 0"),
    ("jit(lambda x: x).lower(1.0).as_text('bad')", ValueError, "unknown dialect"),
    ("hash(generators.stateful_rng(0))", TypeError, "unhashable type"),
    (
        "grad(lambda x: lax.linalg.householder_product(x, f(3)).sum())(f(3, 3))",
        NotImplementedError,
        "Differentiation rule for 'householder_product' not implemented",
    ),
    (
        "grad(lambda x: lax.linalg.eig(x)[0].real.sum())(f(3, 3))",
        NotImplementedError,
        "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the input",
    ),
    (
        "jnp.add(jnp.ones(2, 'int4'), i(2))",
        ValueError,
        "available implicit dtype promotion path.* 2-bit and 4-bit integers do not support implicit",
    ),
    (
        "jnp.ones(2, 'float8_e5m2') + jnp.ones(2)",
        ValueError,
        r"Input dtypes \('.*'\) have no .* 8-bit floats do not support implicit promotion",
    ),
]

#: more rows, of `olympus.lax`: an expression and, in the next line, the term
LAX_ROWS = r"""
lax.broadcasted_iota('int32', (2, 3), 2)
    iota dimension must be between 0 and len\(shape\), got
lax.broadcasted_iota('bool', (2, 3), 0)
    iota does not accept dtype bool\. Accepted dtypes are
lax.iota('int32', -1)
    shape must have every element be nonnegative, got \(-1,\)
lax.reshape(A, (12,), dimensions=(0,))
    reshape dimensions must be a permutation of operand dimensions, got dimensions \(0,\)
lax.pad(A, jnp.int32(0), [(0, 0, 0), (0, 0, 0)])
    pad operand and padding_value must be same dtype: got float32 and int32
lax.cumsum(A, 2)
    axis 2 is out of bounds for array of shape \(3, 4\)
lax.iota('int32', 2.5)
    Shapes must be 1D sequences of concrete values of
lax.rev(A, (2,))
    rev dimensions must all be less than operand ndim
lax.rev(A, (0, 0))
    rev dimensions must be unique, got \(0, 0\)
lax.collapse(A, 1, 0)
    Invalid dimension range passed to collapse: \(3, 4\)\[1:0\]
lax.concatenate([A, A], 2)
    concatenate dimension out of bounds: dimension 2 for shapes
lax.concatenate([A, A], -1)
    concatenate dimension out of bounds: dimension -1 for shapes
lax.concatenate([], 0)
    concatenate requires a non-empty sequences of arrays
lax.split(A, (1, 2), axis=1)
    Sum of sizes 3 must be equal to dimension
lax.pad(A, 0., [(-4, 0, 0), (0, 0, 0)])
    Dimension size after padding is not at least 0
lax.pad(A, 0., [(1, 1, -1), (0, 0, 0)])
    interior padding in padding_config must be nonnegative, got padding_config
lax.pad(A, 0., [(1, 1, 0)])
    length of padding_config must equal the number of axes
lax.slice(A, (0, 1), (2, 3), (1,))
    slice strides must have length equal to the number
lax.dynamic_slice(A, (1,), (2, 2))
    Length of slice indices must match number of operand
lax.dynamic_slice(A, (1., 1), (2, 2))
    index arguments to dynamic_slice must be integers of the
lax.dynamic_slice(A, (jnp.array([1]), 1), (2, 2))
    start_indices arguments to dynamic_slice must be scalars, got indices
lax.dynamic_update_slice(A, ones(2), (1, 1))
    dynamic_update_slice update must have the same rank as operand
lax.dynamic_update_slice(A, ones((5, 5)), (1, 1))
    dynamic_update_slice update shape must be smaller than operand shape
lax.gather(A, jnp.array([[0], [7]]), GD((1,), (0,), (0,)), (1, 4), mode='x')
    Unknown gather mode "x"
lax.gather(A, jnp.array([[0.], [2]]), GD((1,), (0,), (0,)), (1, 4))
    indices must have an integer type
lax.gather(A, I, GD((1,), (0,), (0,)), (1, 5))
    Slice size at index 1 in gather op is
lax.gather(A, I, GD((1,), (0,), (0,)), (1,))
    Gather op must have one slice size for every
lax.gather(A, I, GD((1,), (0,), (0,)), (2, 4))
    Gather op can only collapse slice dims with bound
lax.gather(A, I, GD((1,), (2,), (0,)), (1, 4))
    Invalid collapsed_slice_dims set in gather op; valid range is
lax.gather(A, I, GD((2,), (0,), (0,)), (1, 4))
    Offset dimension 0 in gather op is out of
lax.gather(A, I, GD((1,), (0,), (5,)), (1, 4))
    Invalid start_index_map; domain is \[0, 2\), got: 0->5
lax.gather(A, jnp.array([[0, 1], [2, 1]]), GD((1,), (0,), (0,)), (1, 4))
    Gather op has 1 elements in start_index_map and the
lax.gather(A, I, GD((1, 1), (0,), (0,)), (1, 4))
    offset_dims in gather op must not repeat; got: \(1
lax.gather(A, I, GD((1, 0), (), (0,)), (1, 4))
    offset_dims in gather op must be sorted; got \(1
lax.gather(A, I, GD((1,), (0,), (0, 0)), (1, 4))
    Gather op has 2 elements in start_index_map and the
lax.gather(A, I, GD((1,), (0, 0), (0,)), (1, 4))
    collapsed_slice_dims in gather op must not repeat; got: \(0
lax.scatter_apply(A, I, jnp.sin, SD((1,), (0,), (0,)))
    Updates tensor must be of rank 2; got 0
lax.scatter(A, I, ones((2, 5)), SD((1,), (0,), (0,)))
    Bounds of the window dimensions of updates must not
lax.scatter(A, I, ones((3, 4)), SD((1,), (0,), (0,)))
    Bounds of the scatter dimensions of updates must be
lax.scatter(A, I, ones((2,)), SD((1,), (0,), (0,)))
    Updates tensor must be of rank 2; got 1
lax.scatter(A, I, ones((2, 4)), SD((1,), (0,), (3,)))
    Invalid scatter_dims_to_operand_dims mapping; domain is \[0, 2\), got: 0->3
lax.scatter(A, I, ones((2, 4)), SD((1,), (3,), (0,)))
    Invalid inserted_window_dims set in scatter op; valid range is
lax.scatter(A, I, ones((2, 4)), SD((2,), (0,), (0,)))
    Invalid update_window_dims set in scatter op; valid range is
lax.top_k(jnp.array([3, 1, 2]), 4)
    k argument to top_k must be no larger than
lax.top_k(jnp.array([3, 1, 2]), -1)
    k argument to top_k must be nonnegative, got -1
lax.argmax(A, 1, 'float32')
    index_dtype must be an integer type, but got float32
lax.argmax(A, 2, 'int32')
    Invalid axis 2 for operand shape \(3, 4\)
lax.argmax(A, -1, 'int32')
    Invalid axis -1 for operand shape \(3, 4\)
lax.argmin(ones((0, 2)), 0, 'int32')
    argmin and argmax require non-empty reduced dimension\. operand\.shape=\(0, 2\)
lax.reduce(A, jnp.zeros(1), lax.add, (0,))
    reduce found non-scalar initial value: \[\(1,\)\]
lax.reduce(A, 0., lax.add, (2,))
    reduction axes \(2,\) contains out-of-bounds indices for
lax.reduce(A, 0., lax.add, (-1,))
    reduction axes \(-1,\) contains out-of-bounds indices for
lax.cumsum(A, -1)
    XLA operations do not allow negative axes
lax.reduce(A, 0., lax.add, (0, 0))
    duplicate value in 'axes' of reduction: \(0, 0\)
lax.reduce((A, A), (0., ), lambda x, y:x, (0,))
    Operands must have the same tree structure as init_values
lax.reduce_precision(operand=A, exponent_bits=-1, mantissa_bits=2)
    reduce_precision: exponent_bits must be positive; got -1
lax.reduce_precision(A, 5, -2)
    reduce_precision: mantissa_bits must be non-negative; got -2
lax.reduce_window(A, 0., lax.add, (2,), (1, 1), 'VALID')
    reduce_window got the wrong number of window_dimensions for operand
lax.reduce_window(A, 0., lax.add, (2, 2), (1,), 'VALID')
    reduce_window got inconsistent window_strides and window_dimensions: got window_strides \(1,\)
lax.reduce_window(A, 0., lax.add, (2, 2), (0, 1), 'VALID')
    reduce_window window_strides must have every element be strictly positive
lax.reduce_window(A, 0., lax.add, (0, 2), (1, 1), 'VALID')
    reduce_window window_dimensions must have every element be strictly positive
lax.reduce_window(A, 0., lax.add, (2, 2), (1, 1), 'VALID', (0, 1))
    All dilations must be positive, got \(0
lax.reduce_window(A, 0., lax.add, (2, 2), (1, 1), 'VALID', (1, 1), (1, 0))
    All dilations must be positive, got \(1
lax.select_n(0)
    select_n\(\) must have at least one case
lax.clamp(jnp.zeros(4), A, 5.)
    clamp requires min\.shape == operand\.shape or min\.shape == \(\)
lax.bitcast_convert_type(ones((3, 3), 'uint8'), 'uint32')
    Attempting to convert array of shape \(3, 3\) from
lax.bitcast_convert_type(ones(2, 'complex64'), 'float32')
    lax\.bitcast_convert_type does not support bool or complex values unless
lax.full((2,), ones(2))
    full must be called with scalar fill_value, got fill_value\.shape
lax.dot(A, A)
    jax\.lax\.dot: dimension_numbers must be specified when not performing simple
lax.dot(ones(2), ones(2), precision='foo')
    Precision argument must be one of
lax.dot_general(A, A, (((1,), (1,)), ((0,), ())))
    dot_general requires equal numbers of lhs_batch and rhs_batch dimensions
lax.batch_matmul(ones((3,)), ones((3,)))
    Arguments to batch_matmul must be at least 2D, got
lax.conv(ones((1, 1, 4, 4)), ones((1, 2, 2, 2)), (1, 1), 'SAME')
    conv_general_dilated lhs feature dimension size divided by feature_group_count must
lax.conv(ones((1, 1, 4, 4)), ones((1, 1, 2)), (1, 1), 'SAME')
    convolution requires lhs and rhs ndim to be equal
lax.conv(ones((1, 1, 4, 4)), ones((1, 1, 2, 2)), (1,), 'SAME')
    conv_general_dilated window and window_strides must have the same number
lax.conv_with_general_padding(ones((1, 1, 4, 4)), ones((1, 1, 2, 2)), (1, 1), [(1, 1)], (1, 1), (1, 1))
    Wrong number of explicit pads for convolution: expected 2
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO'))
    convolution dimension_numbers list/tuple must be length 3, got 2
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWD'))
    convolution dimension_numbers\[2\] must contain the characters 'N' and 'C'
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('NHWW', 'HWIO', 'NHWC'))
    convolution dimension_numbers\[0\] must contain the characters 'N' and 'C'
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('HWC', 'HWIO', 'NHWC'))
    convolution dimension_numbers\[0\] must have len equal to the ndim
lax.conv_general_dilated(ones((1, 4, 4, 4)), ones((3, 2, 2, 2)), (1, 1), 'SAME', feature_group_count=2)
    conv_general_dilated rhs output feature dimension size must be a
lax.conv_general_dilated(ones((1, 4, 4, 4)), ones((4, 2, 2, 2)), (1, 1), 'SAME', feature_group_count=3)
    conv_general_dilated feature_group_count must divide lhs feature dimension size, but
lax.conv_general_dilated(ones((2, 4, 4, 4)), ones((4, 4, 2, 2)), (1, 1), 'SAME', lhs_dilation=(0, 1))
    String padding is not implemented for transposed convolution using
lax.conv_dimension_numbers((1, 1, 4, 4), (1, 1, 2, 2), 3)
    convolution dimension_numbers must be tuple/list or None, got <class
lax.fft(ones(4), 'foo', (4,))
    Unknown FFT type 'foo'
lax.fft(ones(4), 'rfft', (5,))
    RFFT input shape \(4,\) minor dimensions must be equal
lax.fft(ones(4, 'complex64'), 'rfft', (4,))
    only real valued inputs supported for rfft
lax.linalg.eig(ones((2, 3)))
    The input to eig must be a square matrix
lax.linalg.qr(ones(3))
    Input 0 to qr must have rank at least
lax.linalg.svd(ones(3))
    Input 0 to svd must have rank at least
lax.linalg.svd(ones((3, 2), int))
    svd does not accept dtype int32
lax.linalg.lu(ones(2))
    Input 0 to lu must have rank at least
lax.linalg.lu_pivots_to_permutation(jnp.array([1, 1], 'int32'), 1)
    Output permutation size 1 has to exceed the trailing
lax.linalg.lu_pivots_to_permutation(jnp.array([1., 1]), 3)
    lu_pivots_to_permutation does not accept dtype float32 at position 0
lax.linalg.triangular_solve(jnp.eye(2), ones((3, 3)))
    Incompatible shapes for arguments to triangular_solve: \(2, 2\) and
lax.linalg.householder_product(ones((3, 2)), ones(3))
    The second argument to householder_product must not have more
lax.linalg.householder_product(ones((2, 3)), ones(2))
    The first argument to householder_product must have at least
lax.linalg.tridiagonal(ones((3, 2)))
    The input to tridiagonal must be a square matrix
lax.linalg.tridiagonal_solve(jnp.zeros(3), ones(3), jnp.zeros(3), ones(3))
    Input 3 to tridiagonal_solve must have rank at least
lax.linalg.tridiagonal_solve(jnp.zeros(3), ones(2), jnp.zeros(3), ones((3, 1)))
    tridiagonal_solve requires that all diagonal arguments have the same
lax.linalg.tridiagonal_solve(jnp.zeros(3), ones(3), jnp.zeros(3), ones((3, 1), int))
    tridiagonal_solve does not accept dtype int32 at position 3
lax.linalg.schur(jnp.eye(2), sort_eig_vals=True)
    The sort feature of LAPACK's gees routine is not
lax.linalg.symmetric_product(ones((2, 3)), jnp.zeros((3, 3)))
    symmetric_update expects a rectangular matrix of shape \(m, n\)
lax.linalg.cholesky_update(jnp.eye(2), ones(3))
    Rank-1 update to Cholesky decomposition takes a square matrix
"""
LAX_LINES = LAX_ROWS.strip().splitlines()
LAX_TERMS = dict(zip(LAX_LINES[::2], map(str.strip, LAX_LINES[1::2]), strict=True))


def _raised(package: ModuleType, expression: str) -> BaseException:
    """Return the error of an expression; f, i and b are arrays of ones of a shape."""
    jnp, random = package.numpy, package.random

    def ones(dtype: str) -> Any:
        return lambda *shape: jnp.asarray(np.ones(shape, dtype))

    arrays = {"f": ones("float32"), "i": ones("int32"), "b": ones("bool")}
    generators = GENERATORS[package]
    lax = package.lax
    names = {"lax": lax, "jnp": jnp, "random": random, "generators": generators}
    names |= {"GD": lax.GatherDimensionNumbers, "SD": lax.ScatterDimensionNumbers}
    names["grad"] = package.grad
    names |= {"A": arrays["f"](3, 4), "I": jnp.asarray([[0], [2]]), "ones": jnp.ones}
    names |= {"np": np, "jit": package.jit, "key": random.key(0), "SDS": package.ShapeDtypeStruct}
    with pytest.raises(Exception) as caught:
        eval(expression, {**arrays, **names})
    return caught.value


@pytest.mark.parametrize(("expression", "cls", "term"), TERMS, ids=[row[0] for row in TERMS])
def test_an_error_has_the_class_and_the_term_of_jax(
    expression: str, cls: type[Exception], term: str
) -> None:
    for package in (jax, olympus):
        error = _raised(package, expression)
        assert isinstance(error, cls), package
        assert re.search(term, str(error)), f"{package.__name__} gives: {error}"


@pytest.mark.parametrize(("expression", "term"), LAX_TERMS.items(), ids=LAX_TERMS)
def test_an_error_of_lax_has_the_class_and_the_term_of_jax(expression: str, term: str) -> None:
    theirs, ours = _raised(jax, expression), _raised(olympus, expression)
    for error in (theirs, ours):
        assert re.search(term, " ".join(str(error).split())), error
    assert isinstance(ours, next(c for c in type(theirs).__mro__ if c.__module__ == "builtins"))
