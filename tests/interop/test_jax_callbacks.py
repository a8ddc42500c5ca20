"""Functions of JAX that call Python: OLYMPUS lowers them, and JAX's own functions are called."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.sharding import PartitionSpec as P

import olympus
from olympus.errors import CallbackError, UsageError
from olympus.interop.jax import trace
from olympus.interop.stablehlo import read
from tests.raising.test_raising import all_eqns

Struct = olympus.ShapeDtypeStruct
X = np.arange(3, dtype=np.float32)
CALLS: list[Any] = []
KIND = jax.ShapeDtypeStruct((3,), "float32")
SCALAR = jax.ShapeDtypeStruct((), "float32")


def record(x: Any) -> Any:
    CALLS.append(np.asarray(x).tolist())
    return np.float32(len(CALLS))


def twice(x: Any) -> Any:
    return np.asarray(x) * 2


class Callable:
    def __call__(self, x: Any) -> None:
        record(x)


def pure(x: Any) -> Any:
    return jax.pure_callback(twice, KIND, x) + jax.pure_callback(np.sin, KIND, x)


def mapped(x: Any) -> Any:
    def one(x: Any) -> Any:
        return jax.pure_callback(twice, SCALAR, x, vmap_method="sequential")

    return jax.vmap(one)(x)


def differentiated(x: Any) -> Any:
    def loss(x: Any) -> Any:
        jax.debug.callback(record, x)
        return (x**2).sum()

    return jax.grad(loss)(x)


def unused(x: Any) -> Any:
    io_callback(record, SCALAR, x)
    return x


def partitioned(x: Any) -> Any:
    jax.debug.callback(Callable(), x, partitioned=True)
    return x + 1


def ordered(x: Any) -> Any:
    first = io_callback(record, SCALAR, x, ordered=True)
    io_callback(functools.partial(record), SCALAR, first, ordered=True)
    return x * io_callback(record, SCALAR, x + 1, ordered=True)


def printed(x: Any) -> Any:
    jax.debug.callback(record, x, ordered=True)
    jax.debug.callback(record, x + 1, ordered=True)
    return x


def loops(x: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        io_callback(record, SCALAR, i, ordered=True)
        even = functools.partial(io_callback, record, SCALAR, ordered=True)
        return jax.lax.cond(i % 2 == 0, lambda c: c + even(c), lambda c: c, c)

    def scanned(c: Any, i: Any) -> Any:
        return c + io_callback(record, SCALAR, i, ordered=True), c.sum()

    def is_small(c: Any) -> Any:
        kind = jax.ShapeDtypeStruct((), "bool")
        return io_callback(lambda c: np.bool_(record(c) < 15), kind, c, ordered=True)

    x, sums = jax.lax.scan(scanned, jax.lax.fori_loop(0, 3, step, x), jnp.arange(2.0))
    return jax.lax.while_loop(is_small, lambda c: c * 2, x), sums


@pytest.mark.parametrize(
    ("function", "is_raised_to"),
    [
        *[(pure, "pure_callback"), (mapped, "pure_callback"), (differentiated, "io_callback")],
        *[(unused, "io_callback"), (partitioned, "io_callback"), (ordered, "io_callback")],
        (printed, "io_callback"),
        (loops, "io_callback"),
    ],
)
def test_the_calls_are_those_of_jax(function: Any, is_raised_to: str) -> None:
    traced = trace(function, [Struct((3,), "float32")])
    assert is_raised_to in {eqn.primitive.name for eqn in all_eqns(traced.olympuspr)}
    assert traced.placement() is None
    assert traced.arg_names == ("x",)
    CALLS.clear()
    got = traced.lower().compile()(X)
    olympus.effects_barrier()
    ours = list(CALLS)
    CALLS.clear()
    want = jax.jit(function)(X)
    jax.effects_barrier()
    assert ours == CALLS
    for a, b in zip(jax.tree.leaves(want), olympus.tree.leaves(got), strict=True):
        np.testing.assert_array_equal(b, a)


def test_operation_by_operation_the_functions_are_called_too() -> None:
    traced = trace(ordered, [Struct((3,), "float32")])
    program = traced.reference_program
    CALLS.clear()
    olympus.core.eval_jaxpr(program, program.consts, X)
    assert CALLS == [[0, 1, 2], 1, [1, 2, 3]]


def test_functions_have_the_names_that_users_gave_them() -> None:
    def every(x: Any) -> Any:
        jax.debug.print("x is {}", x)
        partitioned(x)
        ordered(x)
        return pure(x)

    module = "tests.interop.test_jax_callbacks"
    names = trace(every, [Struct((3,), "float32")]).lower().callbacks
    assert sorted(names) == [
        *["debug.print('x is {}')", "numpy:sin", f"{module}:Callable"],
        *[f"{module}:record"] * 3,
        f"{module}:twice",
    ]


def test_each_device_of_a_mesh_calls_with_its_part() -> None:
    mesh = jax.sharding.AbstractMesh((2,), ("x",))

    def parts(x: Any) -> Any:
        jax.debug.callback(record, x, partitioned=True)
        return x + 1

    function = jax.shard_map(parts, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    traced = trace(function, [Struct((4,), "float32")])
    CALLS.clear()
    traced.lower().compile()(np.arange(4, dtype=np.float32))
    olympus.effects_barrier()
    assert sorted(CALLS) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("index", ["0 : ui64", "-1 : i64", '"0"', "{}", "0.5 : f32", "[0]"])
def test_a_file_has_no_functions_whatever_its_index(index: str) -> None:
    call = (
        "%y = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) "
        f"{{mhlo.backend_config = {{index = {index}}}}} : (tensor<f32>) -> tensor<f32>"
    )
    text = f"func.func @main(%x: tensor<f32>) -> tensor<f32> {{ {call} return %y : tensor<f32> }}"
    text = text.replace("return", "\nreturn")
    assert read(text.encode()).signature.arg_names == ("arg0",)


def test_results_have_the_types_of_the_traced_program() -> None:
    def function(x: Any) -> Any:
        return jax.pure_callback(np.cos, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with jax.enable_x64(True):
        traced = trace(function, [Struct((3,), "float64")])
    result = np.asarray(traced.lower().compile()(X.astype("float64")))
    np.testing.assert_array_equal(result, np.cos(X.astype("float64")))


def test_an_exception_of_a_function_is_an_error_of_the_program() -> None:
    def divides(x: Any) -> Any:
        return jax.pure_callback(lambda x: 1 // 0, KIND, x)

    with pytest.raises(CallbackError, match="ZeroDivisionError"):
        trace(divides, [Struct((3,), "float32")]).lower().compile()(X).block_until_ready()


@pytest.mark.parametrize("function", [pure, unused, partitioned])
def test_an_unchanged_program_is_not_started(function: Any) -> None:
    compiled = trace(function, [Struct((3,), "float32")], as_is=True).lower().compile()
    with pytest.raises(UsageError, match="calls Python functions, and was loaded without them"):
        compiled(X)


def test_an_unchanged_program_with_ordered_calls_is_refused() -> None:
    with pytest.raises(UsageError, match="'ordered' has ordered effects, and is compiled only if"):
        trace(ordered, [Struct((3,), "float32")], as_is=True)
