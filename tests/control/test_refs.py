"""Mutable references against JAX's: values after programs, and classes of errors."""

from __future__ import annotations

import functools
import gc
import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.ref
import numpy as np
import pytest

import olympus as ox
from olympus_core.transforms import references

pytestmark = pytest.mark.usefixtures("no_reference_is_left")

PROGRAMS: list[Callable[[Any], Any]] = []


def program(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a program, a function of a package, to the table."""
    PROGRAMS.append(fun)
    return fun


def read(package: Any, value: Any) -> Any:
    """Return arrays as lists, and the last values of references."""

    def leaf(x: Any) -> Any:
        if isinstance(x, package.Ref):
            x = x[...]
        return np.asarray(x).tolist() if isinstance(x, package.Array) else x

    return package.tree.map(leaf, value)


@program
def indices(ox: Any) -> Any:
    ref = ox.new_ref(ox.numpy.arange(6.0))
    ref[0] = 7.0
    ref[1:3] += ox.numpy.ones(2)
    ref[ox.numpy.array([3, 4])] = ox.numpy.zeros(2)
    ref[-1] = ref[0] * 2
    return ref, ref[2], ref[1:3], ref[ox.ds(1, 2)], len(ref)


@program
def attributes(ox: Any) -> Any:
    ref = ox.new_ref(ox.numpy.arange(3))
    types = str(ref.aval), str(ox.typeof(ref)), repr(ref), type(ref).__name__
    places = ref.sharding.num_devices
    return ref.shape, str(ref.dtype), ref.ndim, ref.size, types, isinstance(ref, ox.Array), places


@program
def functions(ox: Any) -> Any:
    ref = ox.new_ref(ox.numpy.arange(4))
    old = ox.ref.get(ref, 1), ox.ref.swap(ref, 2, 5)
    ox.ref.set(ref, 0, 9)
    ox.ref.addupdate(ref, 3, 10)
    return old, ref, ox.freeze(ref)


@program
def the_array_is_not_changed(ox: Any) -> Any:
    x = ox.numpy.arange(3.0)
    ref = ox.new_ref(x)
    ref[0] = 9.0
    return x, ref


@program
def an_argument_of_jit(ox: Any) -> Any:
    @ox.jit
    def add(refs: Any, x: Any) -> Any:
        refs["a"][...] += x
        return refs["a"][...] * refs["b"][0]

    refs = {"a": ox.new_ref(ox.numpy.zeros(2)), "b": ox.new_ref(ox.numpy.ones(2))}
    return add(refs, 1.0), add(refs, 2.0), refs, add._cache_size() > 2


@program
def closed_over_by_nested_jits(ox: Any) -> Any:
    ref = ox.new_ref(0.0)
    add = ox.jit(lambda x: ref.__setitem__(..., ref[...] + x))

    @ox.jit
    def twice(x: Any) -> Any:
        add(x)
        add(x)
        return ref[...]

    return twice(1.0), twice(2.0), ref


@program
def created_in_jit(ox: Any) -> Any:
    @ox.jit
    def f(x: Any) -> Any:
        ref = ox.new_ref(x)
        ref[0] = 5.0
        ref[1] += ref[0]
        return ox.freeze(ref)

    return f(ox.numpy.arange(3.0))


@program
def scans(ox: Any) -> Any:
    total, rows = ox.new_ref(0.0), ox.new_ref(ox.numpy.arange(3.0))

    def step(carry: Any, xs: Any) -> Any:
        x, row = xs
        total[...] += x
        row[...] *= 2.0
        return carry + total[...], total[...]

    run = ox.jit(lambda xs: ox.lax.scan(step, 0.0, (xs, rows)))
    eager = ox.lax.scan(lambda c, x: step(c, (x, ox.new_ref(x))), 0.0, ox.numpy.arange(4.0))
    return eager, total, run(ox.numpy.arange(3.0)), total, rows


@program
def loops(ox: Any) -> Any:
    ref, count = ox.new_ref(ox.numpy.zeros(4)), ox.new_ref(0)

    def body(i: Any, _: Any) -> None:
        ref[i] = i * 2.0

    def step(c: Any) -> Any:
        count[...] += c
        return c + 1

    ox.lax.fori_loop(0, 4, body, None)
    end = ox.lax.while_loop(lambda c: c < 4, step, 0)
    mapped = ox.lax.map(lambda x: ref[0] + x, ox.numpy.arange(3.0))
    return ref, end, count, mapped


@program
def branches(ox: Any) -> Any:
    ref = ox.new_ref(ox.numpy.zeros(2))

    def run(index: Any) -> None:
        first = lambda: ref.__setitem__(0, 1.0)  # noqa: E731
        second = lambda: ref.__setitem__(1, ref[0] + 7.0)  # noqa: E731
        ox.lax.switch(index, [first, second, lambda: None])

    for index in (1, 0, 2):
        ox.jit(run)(index)
    ox.lax.cond(True, lambda r: r.__setitem__(0, 3.0), lambda r: None, ref)
    return ref


@program
def derivatives_of_inner_references(ox: Any) -> Any:
    def f(x: Any) -> Any:
        ref = ox.new_ref(ox.numpy.zeros(3))
        ref[0] = x
        ref[1] = ox.numpy.sin(ref[0])

        def body(i: Any, _: Any) -> None:
            ref[2] += ref[1] * x * i

        ox.lax.fori_loop(0, 3, body, None)
        return ref[...].sum()

    compiled = ox.value_and_grad(ox.jit(f))(1.0)
    results = ox.grad(f)(1.0), compiled, ox.jvp(f, (1.0,), (1.0,))
    return [round(float(x), 5) for x in ox.tree.leaves(results)]


@program
def references_outside_of_a_derivative(ox: Any) -> Any:
    ref, scale = ox.new_ref(0.0), ox.new_ref(2.0)

    def f(x: Any) -> Any:
        ref[...] = ox.lax.stop_gradient(x) * 2
        return scale[...] * x * x

    def recomputed(x: Any) -> Any:
        inner = ox.new_ref(x)
        inner[...] = ox.numpy.sin(inner[...])
        return inner[...]

    def counted(x: Any) -> Any:
        ref[...] += 1.0
        return x * x

    eager = ox.grad(f)(1.0), ref[...]
    slope = round(float(ox.grad(ox.checkpoint(recomputed))(1.0)), 5)
    return eager, ox.jit(ox.grad(f))(3.0), ref[...], ox.checkpoint(counted)(2.0), ref, slope


@program
def gradients_by_a_custom_rule(ox: Any) -> Any:
    @ox.custom_vjp
    def tap(ref: Any, x: Any) -> Any:
        return x

    def backward(ref: Any, ct: Any) -> Any:
        ref[...] = ct
        return None, ct

    tap.defvjp(lambda ref, x: (x, ref), backward)
    ref = ox.new_ref(0.0)
    f = lambda x: tap(ref, x * 2.0) * 3.0  # noqa: E731
    return ox.grad(f)(1.0), ref[...], ox.jit(ox.grad(f))(1.0), ref


@program
def vmaps(ox: Any) -> Any:
    rows, columns = ox.new_ref(ox.numpy.zeros(3)), ox.new_ref(ox.numpy.zeros((2, 3)))

    def f(row: Any, column: Any, x: Any) -> Any:
        row[...] += x
        column[1] = x
        return row[...] * 2

    doubled = ox.vmap(f, in_axes=(0, 1, 0))(rows, columns, ox.numpy.arange(3.0))
    read = ox.vmap(lambda x, ref: x + ref[...].sum(), in_axes=(0, None))

    def local(x: Any) -> Any:
        ref = ox.new_ref(ox.numpy.zeros(2))
        ref[0] = x
        return ref[...]

    inner = ox.vmap(local)(ox.numpy.arange(3.0))
    return doubled, rows, columns, inner, read(ox.numpy.arange(3.0), rows)


@program
def shapes(ox: Any) -> Any:
    ref = ox.new_ref(ox.numpy.zeros(2))

    def f(ref: Any, x: Any) -> Any:
        ref[...] += x
        return ref[0]

    return ox.eval_shape(f, ref, 1.0).shape, ref, ox.make_jaxpr(f)(ref, 1.0) is not None


@program
def keys(ox: Any) -> Any:
    ref = ox.new_ref(ox.random.key(0))
    ref[...] = ox.random.split(ref[...])[0]
    return ox.random.uniform(ref[...])


@program
def stages(ox: Any) -> Any:
    closed, refs = ox.new_ref(1.0), {"a": ox.new_ref(ox.numpy.zeros(2)), "b": ox.new_ref(2.0)}

    def f(refs: Any, x: Any) -> Any:
        refs["a"][0] += x
        closed[...] += refs["b"][...]
        return refs["a"][...].sum() + closed[...]

    compiled = ox.jit(f).lower(refs, 1.0).compile()
    others = {"a": ox.new_ref(ox.numpy.ones(2)), "b": ox.new_ref(5.0)}
    outs = compiled(refs, 2.0), compiled(others, 3.0), compiled(refs, 1.0)
    return outs, refs, others, closed, ox.jit(f).eval_shape(refs, 1.0).shape


@program
def accumulated_cotangents(ox: Any) -> Any:
    total = ox.new_ref(ox.numpy.zeros(3))

    @ox.jit
    def step(total: Any, x: Any) -> None:
        _, pull_back = ox.vjp(lambda x: (x * x).sum(), x)
        pull_back.with_refs(total)(1.0)

    step(total, ox.numpy.arange(3.0))
    step(total, ox.numpy.ones(3))
    _, pull_back = ox.vjp(lambda x: {"y": x["a"] * 3.0}, {"a": ox.numpy.ones(3)})
    pull_back.with_refs({"a": total})({"y": ox.numpy.ones(3)})
    return total


@program
def writes_of_a_custom_rule(ox: Any) -> Any:
    ref = ox.new_ref(0.0)

    @ox.custom_vjp
    def f(x: Any, ref: Any) -> Any:
        ref[...] = x
        return x * 2.0

    def forward(x: Any, ref: Any) -> Any:
        ref[...] = x * 10.0
        return x * 2.0, x

    f.defvjp(forward, lambda x, ct: (ct * x, None))
    eager = ox.jit(f)(3.0, ref), ref[...]
    return (
        eager,
        ox.grad(lambda x: f(x, ref) * 3.0)(4.0),
        ref[...],
        ox.jit(ox.grad(f))(5.0, ref),
        ref,
    )


@program
def checked_writes(ox: Any) -> Any:
    checkify = importlib.import_module(f"{ox.__name__}.experimental.checkify")
    ref, other = ox.new_ref(0.0), ox.new_ref(1.0)

    def f(x: Any, other: Any) -> Any:
        ref[...] += x
        other[...] *= 2.0
        checkify.check(x > 0, "x is {x}", x=x)
        return ref[...]

    errors = [checkify.checkify(f)(x, other) for x in ox.numpy.array([1.0, -2.0])]
    return [(e.get(), x) for e, x in errors], ref, other


@program
def places_beyond_the_end(ox: Any) -> Any:
    ref = ox.new_ref(ox.numpy.arange(3.0))
    ox.jit(lambda i: ref.__setitem__(i, 9.0))(7)
    ref.addupdate(ox.numpy.ones(3))
    ref.addupdate(1.0, 0)
    return ref, ox.jit(lambda i: ref[i])(8), ref[-4], ox.freeze(ox.numpy.ones(2))


@program
def shardings_of_jit(ox: Any) -> Any:
    mesh = ox.sharding.Mesh(np.array(ox.devices()[:1]), ("x",))
    here = ox.sharding.NamedSharding(mesh, ox.P("x"))
    ref = ox.new_ref(ox.device_put(ox.numpy.arange(4.0), here))

    def f(ref: Any, x: Any) -> Any:
        ref[...] += x
        return ref[...] * 2

    inside = ox.jit(f, in_shardings=(here, here))(ref, ox.numpy.ones(4))
    outside = ox.jit(f, out_shardings=here)(ref, 1.0)
    return inside, outside, ref, str(ref.sharding.spec), str(outside.sharding.spec)


@program
def disabled(ox: Any) -> Any:
    ref = ox.new_ref(0.0)
    with ox.disable_jit():
        ox.jit(lambda x: ref.__setitem__(..., x))(2.0)
    return ref


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_with_references(run: Callable[[Any], Any]) -> None:
    before = set(references.live)
    assert read(ox, run(ox)) == read(jax, run(jax))
    gc.collect()
    assert references.live <= before  # while any exist, functions are searched


def _identity(ox: Any) -> Any:
    f = ox.custom_vjp(lambda a, b: a[...])
    f.defvjp(lambda a, b: (a[...], None), lambda _, ct: (None, None))
    return f


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a list": (lambda ox: ox.new_ref([1, 2]), "."),
    "another shape": (
        lambda ox: ox.new_ref(ox.numpy.zeros(3)).__setitem__(..., ox.numpy.ones(4)),
        r"Invalid shape for `swap`. Ref shape: \(3,\). Expected shape: \(3,\). Value shape: \(4,\)",
    ),
    "another dtype": (
        lambda ox: ox.new_ref(ox.numpy.zeros(3)).__setitem__(..., ox.numpy.arange(3)),
        "Invalid dtype for `swap`. Ref dtype: float32. Value dtype: int32",
    ),
    "a broadcast": (
        lambda ox: ox.new_ref(ox.numpy.zeros((2, 3))).__setitem__(0, 1.0),
        r"Invalid shape for `swap`. Ref shape: \(2, 3\). Expected shape: \(3,\). Value shape: \(\)",
    ),
    "a reference as the value": (
        lambda ox: ox.new_ref(0.0).__setitem__(..., ox.new_ref(1.0)),
        "Cannot store a Ref into another Ref",
    ),
    "too many indices": (
        lambda ox: ox.new_ref(ox.numpy.zeros(3))[0, 0],
        r"`indices` must not be longer than `shape`: indices=\(0, 0\), shape=\(3,\)",
    ),
    "a reversed slice": (
        lambda ox: ox.new_ref(ox.numpy.zeros(3))[::-1],
        r"slice must have a step >= 1 \(found: -1\)",
    ),
    "no reference": (lambda ox: ox.ref.get(ox.numpy.zeros(3), 0), "Can only call `ref_get` on a"),
    "at": (lambda ox: ox.new_ref(ox.numpy.zeros(3)).at[0], "."),
    "out of bounds": (
        lambda ox: ox.new_ref(ox.numpy.zeros(3)).__setitem__(7, 1.0),
        "Out of bound indexer: idx=7, dim=3",
    ),
    "a result": (
        lambda ox: ox.jit(lambda: ox.new_ref(0.0))(),
        "returned a mutable array reference of type Ref{float32.*cannot be returned",
    ),
    "an argument as the result": (
        lambda ox: ox.jit(lambda r: r)(ox.new_ref(0.0)),
        "returned a mutable array reference of type Ref{float32.*cannot be returned",
    ),
    "a carry": (
        lambda ox: ox.lax.scan(lambda c, x: (c, x), ox.new_ref(0.0), ox.numpy.arange(3.0)),
        "mutable array references cannot be returned",
    ),
    "a result in a tree": (
        lambda ox: ox.jit(lambda x_ref: {"hi": x_ref})(ox.new_ref(0.0)),
        r"for jit returned a mutable array reference of type Ref{float32.* at output tree path "
        r"result\['hi'\].*\n\nThe returned mutable array was passed in as the argument x_ref",
    ),
    "a result that was created": (
        lambda ox: ox.jit(lambda x: ox.new_ref(x))(1.0),
        r"traced for jit returned a mutable array reference.*\n\n.*was created on line",
    ),
    "a result of a scan": (
        lambda ox: ox.lax.scan(lambda c, x: (c, x), 0.0, ox.new_ref(ox.numpy.zeros(3))),
        r"traced for scan returned a mutable.*path result\[1\].*\n\n.*passed in as the argument x",
    ),
    "a result of a checkpoint": (
        lambda ox: ox.checkpoint(lambda x: ox.new_ref(x))(1.0),
        "traced for checkpoint / remat returned a mutable array reference",
    ),
    "a result of a branch": (
        lambda ox: ox.lax.cond(True, lambda r: r, lambda r: r, ox.new_ref(0.0)),
        "traced for cond returned a mutable array reference of type Ref{float32",
    ),
    "twice": (
        lambda ox: (lambda r: ox.jit(lambda a, b: a[...] + b[...])(r, r))(ox.new_ref(1.0)),
        "only one reference to a mutable array may be passed as an argument.*for jit the mutable "
        "array reference of type Ref{float32.*appeared at both a and b",
    ),
    "twice in a tree": (
        lambda ox: (lambda r: ox.jit(lambda d: d["a"][...])({"a": r, "b": r}))(ox.new_ref(1.0)),
        r"appeared at both d\['a'\] and d\['b'\]",
    ),
    "twice in a branch": (
        lambda ox: (lambda r: ox.lax.cond(True, lambda a, b: a[...], lambda a, b: b[...], r, r))(
            ox.new_ref(1.0)
        ),
        "for cond the mutable array reference of type Ref{float32.*appeared at both a and b",
    ),
    "twice in a custom_vjp": (
        lambda ox: (lambda r: _identity(ox)(r, r))(ox.new_ref(1.0)),
        "for custom_vjp.* the mutable array reference of type Ref{float32.*at both a and b",
    ),
    "an argument of a branch that is closed over": (
        lambda ox: (lambda r: ox.lax.cond(True, lambda a: a[...] + r[...], lambda a: a[...], r))(
            ox.new_ref(1.0)
        ),
        "for cond, a mutable array reference of type Ref{float32.* was both closed over and passed "
        "as the argument a",
    ),
    "xs that are closed over": (
        lambda ox: (lambda r: ox.lax.scan(lambda c, x: (c + r[0], x[...]), 0.0, r))(
            ox.new_ref(ox.numpy.zeros(3))
        ),
        "for scan, a mutable array reference of type .* closed over and passed as the argument x",
    ),
    "an argument that is closed over": (
        lambda ox: (lambda r: ox.jit(lambda a: a[...] + r[...])(r))(ox.new_ref(1.0)),
        "was both closed over and passed as the argument",
    ),
    "a differentiated value": (
        lambda ox: (lambda r: ox.grad(lambda x: [r.__setitem__(..., x), x][1])(1.0))(
            ox.new_ref(0.0)
        ),
        "performing a set/swap operation with a differentiated value on a non-differentiated",
    ),
    "a mapped value": (
        lambda ox: (lambda r: ox.vmap(lambda x: r.__setitem__(..., x))(ox.numpy.arange(3.0)))(
            ox.new_ref(0.0)
        ),
        "performing a set/swap operation with.*vmapped",
    ),
    "an operand": (lambda ox: ox.numpy.sin(ox.new_ref(1.0)), "."),
    "arithmetic": (lambda ox: ox.new_ref(1.0) + 1, "unsupported operand"),
    "a gradient": (lambda ox: ox.grad(lambda r: r[...])(ox.new_ref(1.0)), "."),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_references(name: str) -> None:
    call, term = ERRORS[name]
    with pytest.raises(Exception) as theirs:
        call(jax)
    with pytest.raises(theirs.type, match=term):
        call(ox)


def test_stages_report_the_arguments_of_the_function() -> None:
    ref, closed = ox.new_ref(ox.numpy.zeros(2)), ox.new_ref(1.0)

    def f(ref: Any, *, z: Any) -> Any:
        ref[...] += z * closed[...]
        return {"r": ref[0]}

    traced = ox.jit(f).trace(ref, z=2.0)
    lowered = traced.lower()
    compiled = lowered.compile()
    for stage in (traced, lowered, compiled):
        assert stage.in_tree == ox.tree.structure(((0,), {"z": 0}))
        assert stage.out_tree == ox.tree.structure({"r": 0})
        assert [a.str_short() for a in ox.tree.leaves(stage.in_avals)] == [
            "float32[2]",
            "float32[]",
        ]
        assert stage.out_info["r"].shape == stage.out_avals["r"].shape == ()
        assert len(ox.tree.leaves(stage.args_info)) == 2
    assert compiled.output_shardings["r"] == ref.sharding
    assert compiled.input_shardings[1]["z"] == ref.sharding
    assert compiled.input_formats[1]["z"].sharding == ref.sharding
    assert compiled.output_formats["r"].sharding == ref.sharding
    assert compiled(ref, z=3.0)["r"] == 3
    assert lowered.load(compiled.serialize())(ref, z=1.0)["r"] == 4
    with pytest.raises(TypeError, match="compiled for an array, and called with Ref"):
        compiled(ref, z=ox.new_ref(1.0))


def test_a_function_without_a_rule_for_references() -> None:
    ref = ox.new_ref(0.0)
    wrapped = ox.custom_jvp(lambda x: [ref.__setitem__(..., x), x][1])
    wrapped.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(ox.errors.TransformError, match="to an array reference of type"):
        ox.jit(wrapped)(1.0)
    constant = ox.custom_jvp(lambda x: [ref.__setitem__(..., 1.0), x][1])
    constant.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(ox.errors.TransformError, match="cannot write to an array reference"):
        ox.jit(constant)(1.0)


def test_a_staged_function_reads_the_last_value() -> None:
    ref = ox.new_ref(1.0)
    scaled = ox.custom_jvp(lambda x: x * ref[...])
    scaled.defjvp(lambda p, t: (scaled(*p), t[0] * ref[...]))
    for value in (2.0, 3.0):
        ref[...] = value
        assert ox.jvp(scaled, (1.0,), (1.0,)) == (value, value)
        assert ox.jit(scaled)(2.0) == 2 * value


def test_functions_without_weak_references() -> None:
    """A ufunc of NumPy cannot be remembered as a function that uses no references."""
    ref = ox.new_ref(1.0)
    identity = functools.partial(ox.numpy.multiply, 1.0)
    for function in (identity, ox.numpy.sin, ox.numpy.add.reduce):
        mapped = ox.lax.map(function, ox.numpy.ones((2, 3)))
        np.testing.assert_array_equal(mapped, ox.vmap(function)(ox.numpy.ones((2, 3))))
    assert ref[...] == 1


def test_a_forward_rule_may_call_its_function_while_references_exist() -> None:
    def values(lib: Any) -> list[float]:
        ref = lib.new_ref(0.0)

        def rule(fun: Any, times: float) -> Any:
            function = lib.custom_vjp(fun)
            function.defvjp(lambda x: (function(x), x), lambda x, ct: (ct * times,))
            return function

        def store(x: Any) -> Any:
            ref[...] = x
            return x * 2

        sine, stored = rule(lib.numpy.sin, 7.0), rule(store, 5.0)
        calls = (lib.grad(sine), lib.jit(lib.grad(sine)), lib.grad(stored), lib.jit(stored), stored)
        return [float(x) for k, call in enumerate(calls) for x in (call(3.0 + k), ref[...])]

    assert values(ox) == values(jax)
