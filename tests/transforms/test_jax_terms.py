"""Wrong calls of transformations raise the class that JAX raises, with JAX's term in the message.

Each row is an expression, evaluated with JAX and with OLYMPUS, and, in the next line, a regular
expression that both messages have; programs for JAX match it.
"""

from __future__ import annotations

import functools
import importlib
import operator
import re
from typing import Any

import numpy as np
import pytest

ROWS = r"""
# arrays and tracers
dead + 1
    Array has been deleted with shape=float32\[3\]
jit(lambda x: x)(dead)
    Array has been deleted with shape=float32\[3\]
np.asarray(dead)
    Array has been deleted with shape=float32\[3\]
leaked(jit) + 1
    Encountered an unexpected tracer.*intermediate value with type float32\[3\]
jit(lambda x: x + leaked(jit))(1.0)
    Encountered an unexpected tracer
jit(lambda x: 1 if x > 0 else 2)(1.0)
    boolean conversion of traced array with shape bool\[\]
jit(lambda x: 1 if x else 2)(ones)
    The truth value of an array .* is ambiguous
jit(float)(1.0)
    Abstract tracer value encountered where concrete value is expected
jit(lambda x: x.item())(1.0)
    concrete value is expected: traced array with shape float32\[\]
jit(lambda x: x.devices())(1.0)
    The devices\(\) method was called on traced array with shape float32\[\]
jit(lambda x: x.is_fully_addressable)(1.0)
    The is_fully_addressable property was called on traced array with shape float32\[\]
jit(lambda x: x.is_fully_replicated)(1.0)
    The is_fully_replicated property was called on traced array with shape float32\[\]
jit(lambda x: x.committed)(1.0)
    The 'committed' attribute is not available on traced array with shape float32\[\]
jit(lambda x: x.addressable_shards)(1.0)
    The 'addressable_shards' attribute is not available on traced array
jit(lambda x: x.unsafe_buffer_pointer())(ones)
    Abstract tracer value encountered where concrete value is expected
jit(range)(1)
    The __index__\(\) method was called on traced array with shape int32\[\]
jit(operator.index)(1.0)
    Only integer scalar arrays can be converted to a scalar index
jit(lambda x: np.sin(x))(ones)
    conversion method __array__\(\) was called on traced array with shape
float(ones)
    Only scalar arrays can be converted to Python scalars; got arr.ndim=1
operator.index(ones)
    Only integer scalar arrays can be converted to a scalar index
format(ones, '.2f')
    unsupported format string passed to numpy.ndarray.__format__
typeof('a')
    Argument 'a' of type <class 'str'> is not a valid JAX type
# jit
jit(3)
    Expected a callable value, got 3
jit(generator)
    Expected a function, got a generator function
jit(lambda x: x)({'a': 'b'})
    The problematic value is of type <class 'str'> and was passed to the function at path x\['a'\]
jit(lambda x: [x, 'a'])(1)
    of type <class 'str'> at output component \[1\], which is not a valid JAX type
jit(lambda x: x)(2**40)
    An overflow was encountered .* whose argument path is x
jit(lambda x: x, static_argnums=1)
    static_argnums=\(1,\), but only accepts 1 positional
jit(lambda x: x, static_argnums='x')
    'str' object cannot be interpreted as an integer
jit(lambda x: x, static_argnames='y')
    invalid argnames \{'y'\} in static_argnames. Function does not take these args
jit(lambda x, /: x, static_argnames='x')
    invalid argnames \{'x'\} in static_argnames. These are positional-only
jit(None)
    Expected a callable value, got None
ones == [0, 1]
    unsupported operand type\(s\) for ==: .* and 'list'
jit(lambda x: x, donate_argnums=1)
    donate_argnums=\(1,\), but only accepts 1 positional
jit(lambda x: x, static_argnums=0, donate_argnums=0)
    static_argnames and donate_argnames cannot intersect
jit(lambda x: x, static_argnums=0)([1])
    Non-hashable static arguments .* <class 'list'>, \[1\]
jit(lambda x: x, static_argnums=0).lower([1])
    Non-hashable static arguments .* <class 'list'>, \[1\]
jit(lambda x: x, static_argnames='x').eval_shape(x={})
    Non-hashable static arguments .* <class 'dict'>, \{\}
ones.flat
    JAX Arrays do not implement the arr.flat property: consider arr.flatten
twice(jit(lambda x: 1, static_argnums=0), Incomparable)
    static arguments should be comparable
jit(lambda x: x, in_shardings='a')(1)
    in_shardings leaf specifications are expected to be
# derivatives
grad(3)
    Expected a callable value, got 3
grad(lambda x: x)(1)
    grad requires real- or complex-valued inputs .*np.inexact\), but got int32
grad(lambda x: x)(1j)
    grad requires real-valued outputs .* but got complex64
grad(lambda x: x)(ones)
    Gradient only defined for scalar-output functions. Output had shape: \(3,\)
grad(lambda x: None)(1.0)
    only defined for scalar-output functions. Output was None
grad(lambda x: x, has_aux=True)(1.0)
    function with aux output to return a two-element tuple
grad(lambda x: x)()
    argnums=0 requires at least 1 positional arguments .* got only 0
grad(lambda x: x, holomorphic=True)(1.0)
    grad with holomorphic=True requires inputs with complex dtype, but got float32
grad(lambda x: x.real, holomorphic=True)(1j)
    requires outputs with complex dtype
jacrev(lambda x: x)(1)
    jacrev requires real- or complex-valued inputs
jacrev(lambda x: x)(1j)
    jacrev requires real-valued outputs
jacfwd(lambda x: x)(1)
    jacfwd requires real-valued inputs
jacfwd(lambda x: x.real, holomorphic=True)(1j)
    jacfwd .* requires outputs with complex dtype
jacfwd(lambda x: x, argnums=2)(1.0)
    Positional argument indices, .* value 2 for len\(args\)
checkpoint(lambda x: 'a')(1.0)
    type <class 'str'>.* is not a valid JAX type
checkpoint(lambda x: x)('a')
    Argument 'a' of type <class 'str'> is not a valid JAX type
jvp(lambda x: x, (1.0,), (1,))
    jvp do not match; dtypes must be equal
jvp(lambda x: x, (ones,), (1.0,))
    jvp called with different primal and tangent shapes;
jvp(lambda x: x, (1.0,), ())
    primal and tangent arguments to jax.jvp must have the same tree
jvp(lambda x: x, 1.0, 1.0)
    must be tuples or lists; found float and float
vjp(lambda x: x, 1.0)[1](1)
    unexpected JAX type .* got int32\[\], but expected float32\[\]
vjp(lambda x: x, 1.0)[1]((1.0,))
    unexpected tree structure
vjp(lambda x: x, 1.0)[1](1.0, 2.0)
    was called with 2 arguments
linearize(lambda x: x, 1.0)[1](1)
    linearized function called on tangent values inconsistent
linearize(lambda x: x, 1.0)[1]()
    expected PyTreeDef\(\(\*,\)\), got PyTreeDef\(\(\)\)
linear_transpose(lambda x: x, 1.0)(1)
    cotangent type does not match function output
linear_transpose(lambda x: x, 1.0)((1.0,))
    cotangent tree does not match function output
linear_transpose(lambda x: x.astype(int), 1.0)
    linear_transpose only supports \[float or
# vmap, pmap and collectives
vmap(lambda x: x)(1.0)
    vmap was requested to map its argument along axis 0, which implies
vmap(lambda x, y: x)(ones, np.ones(4))
    inconsistent sizes for array axes to be mapped:\n.*size 3: axis 0 of argument x of type .*;\n
vmap(lambda x: x, in_axes=None)(ones)
    vmap must have at least one non-None value in in_axes
vmap(lambda x: x)()
    containing an array or axis_size must be specified, got empty \*args=\(\) and \*\*kwargs=
vmap(lambda x: x, in_axes=(0, 0))(ones)
    vmap in_axes must be .* len\(in_axes\)=2, len\(args\)=1
vmap(lambda x: x, in_axes=([0],))((ones,))
    vmap in_axes specification must be a tree prefix
vmap(lambda x: x, in_axes='a')
    vmap in_axes must be an int, None, or a tuple of entries
vmap(lambda x: x, out_axes='a')
    vmap out_axes must be an int, None, or \(nested\) container
vmap(lambda x: x, out_axes=None)(ones)
    at vmap out_axes, got axis spec None but output was
vmap(lambda x: x, out_axes=2)(ones)
    axis 2 is out of bounds for array of dimension 1
vmap(lambda x: lax.psum(x, 'i'))(ones)
    unbound axis name: i
vmap(lambda x: lax.pshuffle(x, 'i', [0, 0, 1]), axis_name='i')(ones)
    `perm` does not represent
pmap(lambda x: x, in_axes='a')(ones)
    pmap in_axes must be an int, None, or
pmap(lambda x: x, devices=[])
    'devices' argument to pmap must be non-empty
# control flow
lax.scan(lambda c, x: (c, x), 1.0, 2.0)
    scan got value with no leading axis to scan over
lax.scan(lambda c, x: c, 1.0, ones)
    scan body output must be a pair
lax.scan(lambda c, x: (c + ones, x), 1.0, ones)
    carry output must have equal types, .*:\n\nThe input carry c has type .* so the shapes do
lax.scan(lambda c, x: ((c, c), x), 1.0, ones)
    must have the same pytree structure, but they
lax.scan(lambda c, x: (c[:1], x), (1.0, 2.0), ones)
    The input carry c is a tuple of length 2 but .* is a tuple of length 1, so the lengths do
lax.scan(lambda c, x: (c, x), 1.0, [ones, np.ones(4)])
    different leading axis sizes: 3, 4
lax.scan(lambda c, x: (c, x), 1.0, ones, length=4)
    `length` argument of 4 which disagrees
lax.scan(lambda c, x: (c, x), 1.0)
    scan got no values to scan over and `length` not provided
lax.scan(lambda c, x: (c, x), 1.0, ones, unroll=-1)
    `unroll` must be a `bool` or a non-neg
lax.scan(3, 1.0, ones)
    lax.scan: f argument should be
lax.while_loop(lambda c: c, lambda c: c, 1.0)
    cond_fun must return a boolean scalar
lax.while_loop(lambda c: c < 3, lambda c: (c, c), 1.0)
    while_loop body function carry input and
lax.fori_loop(0, 3.0, lambda i, c: c, 1.0)
    lower and upper arguments to fori_loop must have
grad(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + 1, x))(1.0)
    Reverse-mode differentiation does not work for lax.while_loop
lax.cond(ones, lambda: 1, lambda: 2)
    Pred must be a scalar, got .* of shape \(3,\)
lax.cond(None, lambda: 1, lambda: 2)
    cond predicate is None
lax.cond(1j, lambda: 1, lambda: 2)
    Pred type must be either boolean or number, got complex64
lax.cond(True, lambda: {'a': 1}, lambda: {'a': 2.0})
    cond branches must have equal output types .*The output of true_fun at path .* has type int32
lax.cond(True, lambda: (1, 2), lambda: (1,))
    cond branch outputs must have the same pytree .* is a tuple of length 2 but false_fun output
lax.switch(0, [])
    Empty branch sequence
lax.switch(0.0, [lambda: 1, lambda: 2])
    Index type must be an integer
lax.switch(0, [lambda: 1, lambda: 2.0])
    The output of branch 0 has type int32\[\] but the
lax.associative_scan(3, ones)
    lax.associative_scan: fn argument should be callable
# arrays of data-dependent shapes
jit(lambda n: xp.arange(n))(3)
    [Ii]t arose in the jnp.arange argument 'stop'
jit(lambda n: xp.ones(n))(3)
    Shapes must be 1D sequences of concrete values of integer type
jit(lambda n: xp.repeat(ones, n))(2)
    When jit-compiling jnp.repeat, the total number of repeats must be static
jit(xp.nonzero)(ones)
    The size argument of jnp.nonzero must be statically specified
jit(xp.unique)(ones)
    The error arose for the first argument of jnp.unique\(\)
jit(lambda x: x[x > 0])(ones)
    Array boolean indices must be concrete; got bool\[3\]
jit(lambda n: ones[:n])(2)
    Slice entries must be static integers. Got slice\(None, JitTracer\(~int32\[\]\), None\) at pos
xp.zeros(0)[0]
    index is out of bounds for axis 0 with size 0
xp.zeros(3, 'flot')
    data type 'flot' not understood
ones['a']
    JAX does not support string indexing; got idx='a'
# rules
jvp(forward(lambda p, t: p[0]), (1.0,), (1.0,))
    Custom JVP rule rule for function f must produce a pair \(list or tuple of length two\)
jvp(forward(lambda p, t: (p[0], ones)), (1.0,), (1.0,))
    corresponding shapes and dtypes. Expected float32\[\] \(tangent type of float32\[\]\) but got
jvp(forward(lambda p, t: (p[0], t)), (1.0,), (1.0,))
    for function f must produce primal and tangent outputs with equal container \(pytree\)
forward(lambda p, t: p)(1.0, 2.0)
    input arguments to the custom_jvp-decorated function f could not be resolved to positional-only
grad(reverse(lambda x: x, lambda r, c: (c,)))(1.0)
    Custom VJP fwd rule rule for function f must produce a pair \(list or tuple of length two\)
grad(reverse(lambda x: (x, x), lambda r, c: c))(1.0)
    must produce a tuple of length equal to the number of arguments to the primal function
grad(reverse(lambda x: (x, x), lambda r, c: ((c,),)))(1.0)
    must produce an output with the same container \(pytree\) structure as the args tuple
grad(reverse(lambda x: (x, x), lambda r, c: (ones,)))(1.0)
    must produce an output with the same type as the args tuple of the primal function
jacfwd(reverse(lambda x: (x, x), lambda r, c: (c,)))(1.0)
    can't apply forward-mode autodiff \(jvp\) to a custom_vjp function
jit(lambda n, x: grad(product, 1)(n, x))(2.0, 3.0)
    Found a JAX Tracer object passed as an argument to a custom_vjp function in a position
checkpoint(lambda x: x, static_argnums=1)(1.0)
    can only take integer values greater than or equal to `-len\(args\)` and less than `len\(args\)`
lax.dynamic_slice(ones, (0,), (4,))
    slice_sizes must be less than or equal to operand shape, got slice_sizes \(4,\) for
lax.pad(ones, ones, [(0, 0, 0)])
    padding_value must be a scalar; got np.shape\(padding_value\)=\(3,\)
linear_transpose(lax.sin, 1.0)(1.0)
    Transpose rule \(for reverse-mode differentiation\) for 'sin' not implemented
"""


class Incomparable:
    """Objects of one hash, whose comparison fails."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")


def _generator(x: Any) -> Any:
    yield x


def _namespace(library: str) -> dict[str, Any]:
    """Return the names of the rows, from JAX or from OLYMPUS."""
    module = importlib.import_module(library)

    def leaked(transform: Any) -> Any:
        found: list[Any] = []
        transform(lambda x: found.append(x))(np.ones(3, np.float32))
        return found[0]

    product = module.custom_vjp(lambda n, x: x * n, nondiff_argnums=(0,))
    product.defvjp(lambda n, x: (x * n, None), lambda n, _, ct: (n * ct,))

    def f(x: Any) -> Any:
        return x * x

    def named(rule: Any) -> Any:
        rule.__name__ = "rule"
        return rule

    def forward(rule: Any) -> Any:
        function = module.custom_jvp(f)
        function.defjvp(named(rule))
        return function

    def reverse(fwd: Any, bwd: Any) -> Any:
        function = module.custom_vjp(f)
        function.defvjp(named(fwd), bwd)
        return function

    dead = module.numpy.zeros(3)
    dead.delete()
    return {
        **{name: getattr(module, name) for name in ("jit", "grad", "vmap", "pmap", "jvp", "vjp")},
        "checkpoint": module.checkpoint,
        **{name: getattr(module, name) for name in ("jacfwd", "jacrev", "linearize", "typeof")},
        "linear_transpose": module.linear_transpose,
        "lax": module.lax,
        "xp": module.numpy,
        "forward": forward,
        "reverse": reverse,
        "np": np,
        "operator": operator,
        "generator": _generator,
        "Incomparable": Incomparable,
        "ones": module.numpy.ones(3),
        "product": product,
        "dead": dead,
        "leaked": leaked,
        "twice": lambda f, cls: (f(cls()), f(cls())),
    }


@functools.cache
def _names(library: str) -> dict[str, Any]:
    return _namespace(library)


def _error(library: str, expression: str) -> Exception:
    with pytest.raises(Exception) as caught:
        eval(expression, _names(library))
    return caught.value


_LINES = [line for line in ROWS.splitlines() if line and not line.startswith("#")]
TERMS = dict(zip(_LINES[::2], map(str.strip, _LINES[1::2]), strict=True))


@pytest.mark.parametrize("expression", TERMS)
def test_an_error_has_the_class_and_the_term_of_jax(expression: str) -> None:
    theirs, ours = _error("jax", expression), _error("olympus", expression)
    for error in (theirs, ours):
        assert re.search(TERMS[expression], str(error), re.DOTALL), error
    builtin = next(c for c in type(theirs).__mro__ if c.__module__ == "builtins")
    assert isinstance(ours, builtin)
