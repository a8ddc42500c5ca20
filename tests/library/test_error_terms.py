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
from tests.library.lax_error_terms import LAX_TERMS

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
    ("random.key(jnp.arange(3))", TypeError, r"shape \(3,\) != \(\)\. Use jax\.vmap for batching"),
    ("random.fold_in(key, jnp.arange(2))", TypeError, r"!= \(\)\. Use jax\.vmap for batching"),
    ("random.uniform(random.split(random.key(0)))", ValueError, "Use jax.vmap for batching"),
    ("jnp.where(True, random.key(0), 1)", ValueError, "dtype=key<fry> is not a valid dtype for"),
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
    ("key ** 2", TypeError, "key<fry>"),
    ("key + key", TypeError, "add does not accept dtype key<fry> at position 0. Accepted dtypes"),
    ("~key", TypeError, "not does not accept dtype key<fry>. Accepted dtypes are subtypes of"),
    ("round(key)", TypeError, "Cannot interpret 'key<fry>' as a data type"),
    ("jnp.sin(key)", TypeError, "Cannot interpret 'key<fry>' as a data type"),
    ("jnp.add(key, 1)", TypeError, "add does not accept dtypes key<fry>, int32."),
    ("jnp.isdtype(key.dtype, 'integral')", TypeError, "Cannot interpret 'key<fry>' as a data"),
    ("lax.sin(key)", TypeError, "sin does not accept dtype key<fry>. Accepted dtypes are"),
    ("lax.lt(key, key)", TypeError, "lt does not accept dtype key<fry> at position 0. Accepted"),
    ("key.item()", NotImplementedError, "Cannot call abstract method item"),
    ("random.key(0, impl=3)", TypeError, "unrecognized type <class 'int'> for specifying PRNG"),
    ("grad(random.uniform)(key)", TypeError, r"np.inexact\), but got key<fry>. If you want to use"),
    ("grad(lambda x: key)(1.0)", TypeError, "grad with output element type key<fry>"),
    ("jacfwd(random.uniform)(key)", TypeError, "jacfwd with input element type key<fry>"),
    (
        "grad(lambda n: n * 1.0)(3)",
        TypeError,
        "but got int32. If you want to use Boolean- or integer-valued inputs, use vjp or set",
    ),
    ("grad(lambda x: 1)(1.0)", TypeError, "got int32. For differentiation of functions with int"),
    (
        "jacrev(lambda z: z + 1j)(1.0)",
        TypeError,
        "For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holom",
    ),
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
    ("i(3) ** jnp.int32(-1)", TypeError, r"negative powers, got integer_pow\(int32\[3\], -1\)"),
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
    names |= {name: getattr(package, name) for name in ("grad", "jacfwd", "jacrev")}
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
