"""Programs raised from StableHLO: their operations, numbers, lines, and what cannot be raised."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus
from olympus_core import xla
from olympus_core.base.avals import shaped
from olympus_core.base.context import enable_x64
from olympus_core.base.dtypes import array_dtypes, itemsize_bits, long_name, to_real
from olympus_core.execution import compilation
from olympus_core.ir.check import check
from olympus_core.ir.olympuspr import Eqn, Olympuspr, sub_programs
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.lowering.whole_module import lower_module
from olympus_core.mlir import bindings as mlir
from olympus_core.raising.raising import raise_module
from olympus_core.raising.unraisable import UnraisableError
from olympus_core.transforms.evaluate import evaluate

CPU = xla.Target("cpu")
ENTRY = EntryAttributes("jit_f")


def raised(text: str) -> Olympuspr:
    program = raise_module(mlir.parsed(textwrap.dedent(text)))
    check(program)
    return program


def all_eqns(program: Olympuspr) -> list[Eqn]:
    """Return the equations of a program and of the programs in it."""
    eqns = []
    for eqn in program.eqns:
        eqns.append(eqn)
        for inner in sub_programs(eqn):
            eqns += all_eqns(inner)
    return eqns


def names(program: Olympuspr) -> list[str]:
    return [eqn.primitive.name for eqn in program.eqns]


def run(program: Olympuspr, *args: Any) -> list[np.ndarray[Any, Any]]:
    """Return the results of a program, lowered with repeated blocks and compiled for the CPU."""
    with enable_x64():
        module, _ = compilation.lower(program, ENTRY, CPU)
        buffers = [xla.put(np.asarray(x)) for x in args]
        results = xla.compile(module, CPU).execute(buffers)
        return [np.asarray(xla.to_numpy(x)) for x in results]


def of_jax(fun: Any, *args: Any, **options: Any) -> Any:
    """Return the module of a JAX function."""
    text = jax.jit(fun, **options).lower(*args).as_text(debug_info=True)
    return mlir.parsed(text)


def body(text: str, signature: str = "(%x: tensor<3xf32>) -> tensor<3xf32>") -> str:
    return f"func.func @main{signature} {{\n{textwrap.dedent(text)}\n}}"


def test_a_constant_is_a_scalar_of_the_equations_that_use_it() -> None:
    program = raised(
        body(
            """
            %c = stablehlo.constant dense<2.0> : tensor<3xf32>
            %0 = stablehlo.multiply %x, %c : tensor<3xf32>
            return %0 : tensor<3xf32>
            """
        )
    )
    (eqn,) = program.eqns
    assert eqn.primitive.name == "mul"
    (constant,) = eqn.inputs[1:]
    assert (constant.val, constant.aval.short_name()) == (2, "f32[]")


def test_an_operation_without_a_primitive_is_opaque_and_is_lowered_unchanged() -> None:
    text = body(
        """
        %0 = stablehlo.custom_call @Foo(%x) {backend_config = "a", api_version = 2 : i32}
          : (tensor<3xf32>) -> tensor<3xf32>
        %1 = "stablehlo.map"(%0, %x) <{dimensions = array<i64: 0>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %2 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %2 : tensor<f32>
        }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        return %1 : tensor<3xf32>
        """
    )
    program = raised(text)
    assert names(program) == ["opaque", "opaque"]
    lowered = lower_module(program, ENTRY)
    assert lowered.operation.verify()
    text = lowered.operation.get_asm()
    assert 'stablehlo.custom_call @Foo(%arg0) {api_version = 2 : i32, backend_config = "a"}' in text
    assert "stablehlo.map" in text


def test_the_regions_of_an_opaque_operation_use_values_from_outside() -> None:
    program = raised(
        body(
            """
            %y = stablehlo.slice %x [0:1] : (tensor<3xf32>) -> tensor<1xf32>
            %z = stablehlo.reshape %y : (tensor<1xf32>) -> tensor<f32>
            %1 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
            ^bb0(%a: tensor<f32>):
              %2 = stablehlo.add %a, %z : tensor<f32>
              stablehlo.return %2 : tensor<f32>
            }) : (tensor<3xf32>) -> tensor<3xf32>
            return %1 : tensor<3xf32>
            """
        )
    )
    assert names(program) == ["slice", "reshape", "opaque"]
    lowered = lower_module(program, ENTRY)
    assert lowered.operation.verify()
    assert "stablehlo.add %arg1, %1 : tensor<f32>" in lowered.operation.get_asm()


def test_an_operation_with_an_unknown_attribute_is_opaque() -> None:
    program = raised(
        body(
            """
            %0 = stablehlo.add %x, %x {mhlo.frontend_attributes = {a = "b"}} : tensor<3xf32>
            return %0 : tensor<3xf32>
            """
        )
    )
    assert names(program) == ["opaque"]
    module = lower_module(program, ENTRY)
    assert 'mhlo.frontend_attributes = {a = "b"}' in module.operation.get_asm()


def test_calls_of_one_function_share_a_program() -> None:
    program = raised(
        body(
            """
            %0 = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
            %1 = call @f(%0) : (tensor<3xf32>) -> tensor<3xf32>
            return %1 : tensor<3xf32>
            """
        )
        + """
        func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {
          %0 = stablehlo.tanh %x : tensor<3xf32>
          return %0 : tensor<3xf32>
        }
        """
    )
    first, second = program.eqns
    assert first.primitive.name == "jit"
    assert first.params["name"] == "f"
    assert first.params["olympuspr"] is second.params["olympuspr"]


def test_equations_have_the_lines_and_scopes_of_the_module() -> None:
    def f(x: Any) -> Any:
        with jax.named_scope("outer"):
            return jnp.tanh(x)

    module = of_jax(jax.grad(f), 1.0)
    called = lower_module(raise_module(of_jax(lambda x: jax.jit(f)(x) * 2, 1.0)), ENTRY)
    assert 'loc("jit_f/outer/tanh"' in called.operation.get_asm(enable_debug_info=True)
    marks = {eqn.primitive.name: eqn.source for eqn in raise_module(module).eqns}
    position = marks["tanh"].position()
    assert position is not None
    assert position.file == __file__
    assert position.text() == "return jnp.tanh(x)"
    assert marks["tanh"].scope == "outer"
    assert marks["mul"].backward


def test_a_lowered_raised_program_has_the_lines_of_the_module() -> None:
    module = of_jax(lambda x: jnp.tanh(x) @ x, np.ones((3, 3), np.float32))
    again = lower_module(raise_module(module), ENTRY)
    assert f'{__file__}":' in again.operation.get_asm(enable_debug_info=True)


def test_argmax_of_jax_is_one_primitive() -> None:
    module = of_jax(lambda x: jnp.argmax(x, axis=1), np.ones((3, 4), np.float32))
    found = [eqn.primitive.name for eqn in all_eqns(raise_module(module))]
    assert "argmax" in found
    assert "reduce" not in found


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bfloat16"])
@pytest.mark.parametrize("num_keys", [1, 2])
def test_sort_of_jax_is_one_primitive(dtype: str, num_keys: int) -> None:
    xs = [np.ones((3, 4), jnp.dtype(dtype)), np.ones((3, 4), np.int32)]
    module = of_jax(lambda *x: jax.lax.sort(x, num_keys=num_keys), *xs)
    (eqn,) = raise_module(module).eqns
    assert eqn.primitive.name == "sort"
    assert (eqn.params["num_keys"], eqn.params["dimension"]) == (num_keys, 1)


@pytest.mark.parametrize(
    ("dtype", "name"), [("float32", "square"), ("int32", "mul"), ("complex64", "opaque")]
)
def test_a_square_of_jax_is_raised_to_the_operation_of_the_same_value(
    dtype: str, name: str
) -> None:
    x = np.arange(1, 4).astype(dtype)
    program = raised(jax.jit(jnp.square).lower(x).as_text())
    assert names(program) == [name]
    np.testing.assert_allclose(run(program, x)[0], x * x, rtol=1e-6)


def test_a_constraint_to_a_mesh_of_one_device_is_its_operand() -> None:
    program = raise_module(of_jax(jax.random.bits, jax.random.key(0)))
    assert "sharding_constraint" not in names(program)


@pytest.mark.parametrize(("lhs", "rhs"), [("2x3", "3x4"), ("3", "3x4"), ("2x3", "3"), ("3", "3")])
def test_a_dot_of_hlo_is_a_product(lhs: str, rhs: str) -> None:
    x, y = (
        np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for shape in ([int(n) for n in text.split("x")] for text in (lhs, rhs))
    )
    want = np.dot(x, y)
    out = "x".join([*map(str, want.shape), "f32"])
    program = raised(
        f"""
        func.func @main(%x: tensor<{lhs}xf32>, %y: tensor<{rhs}xf32>) -> tensor<{out}> {{
          %0 = stablehlo.dot %x, %y, precision = [DEFAULT, DEFAULT]
            : (tensor<{lhs}xf32>, tensor<{rhs}xf32>) -> tensor<{out}>
          return %0 : tensor<{out}>
        }}
        """
    )
    assert names(program) == ["dot_general"]
    np.testing.assert_array_equal(run(program, x, y)[0], want)


def test_the_layout_that_an_operation_had_in_hlo_is_left_out() -> None:
    layout = '{result_layout = dense<[0]> : tensor<1xindex>, xla_shape = "f32[3]{0}"}'
    program = raised(
        body(f"%0 = stablehlo.tanh %x {layout} : tensor<3xf32>\nreturn %0 : tensor<3xf32>")
    )
    assert names(program) == ["tanh"]


def test_a_sort_by_another_order_is_opaque_and_correct() -> None:
    program = raised(
        body(
            """
            %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %2 : tensor<i1>
            }) : (tensor<3xf32>) -> tensor<3xf32>
            return %0 : tensor<3xf32>
            """
        )
    )
    assert names(program) == ["opaque"]
    (result,) = run(program, np.array([1, 3, 2], np.float32))
    assert result.tolist() == [3, 2, 1]


def test_a_region_with_a_complex_constant_is_opaque_and_is_lowered_unchanged() -> None:
    program = raised(
        body(
            """
            %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers =
              #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
              index_vector_dim = 1>}> ({
            ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
              %c = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
              stablehlo.return %c : tensor<complex<f32>>
            }) : (tensor<3xcomplex<f32>>, tensor<1x1xi32>, tensor<1xcomplex<f32>>)
              -> tensor<3xcomplex<f32>>
            return %0 : tensor<3xcomplex<f32>>
            """,
            "(%x: tensor<3xcomplex<f32>>, %i: tensor<1x1xi32>, %u: tensor<1xcomplex<f32>>)"
            " -> tensor<3xcomplex<f32>>",
        )
    )
    assert names(program) == ["opaque"]
    assert lower_module(program, ENTRY).operation.verify()


def test_a_reduction_from_another_start_is_general_and_correct() -> None:
    program = raised(
        body(
            """
            %c = stablehlo.constant dense<5.0> : tensor<f32>
            %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0]
              : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
            return %0 : tensor<f32>
            """,
            "(%x: tensor<3xf32>) -> tensor<f32>",
        )
    )
    assert names(program) == ["reduce"]
    assert run(program, np.ones(3, np.float32))[0] == 8


def test_loops_and_branches_of_jax_compute_the_same() -> None:
    def f(x: Any, n: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            carry = jax.lax.cond(n > 2, jnp.sin, lambda v: v * 2, carry + row)
            return carry, carry.sum()

        last, sums = jax.lax.scan(step, x[0], x)
        return jax.lax.while_loop(lambda v: v.sum() < 100, lambda v: v + n, last), sums

    x = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    for n in (2, 3):
        program = raise_module(of_jax(f, x, n))
        assert not [e for e in all_eqns(program) if e.primitive.name == "opaque"]
        for got, want in zip(run(program, x, np.int32(n)), jax.jit(f)(x, n), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_an_if_takes_the_branch_of_its_predicate() -> None:
    program = raised(
        body(
            """
            %0 = "stablehlo.if"(%p) ({
              %1 = stablehlo.add %x, %x : tensor<f32>
              stablehlo.return %1 : tensor<f32>
            }, {
              stablehlo.return %x : tensor<f32>
            }) : (tensor<i1>) -> tensor<f32>
            return %0 : tensor<f32>
            """,
            "(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32>",
        )
    )
    assert [run(program, np.bool_(p), np.float32(3))[0] for p in (True, False)] == [6, 3]


@pytest.mark.parametrize("dtype", [d for d in array_dtypes() if d.name != "bool"], ids=long_name)
@pytest.mark.parametrize("count", [1, 3, 300])
def test_constants_have_the_bits_of_the_module(dtype: Any, count: int) -> None:
    rng = np.random.default_rng(0)
    part = to_real(dtype)
    if itemsize_bits(dtype) < 8:
        values = rng.integers(0, 2, count).astype(dtype)  # packed into less than a byte
    else:
        size = count * dtype.itemsize
        values = np.frombuffer(rng.bytes(size), part).view(dtype)
    with mlir.context(), mlir.ir.Location.unknown():
        attribute = mlir.dense(values)
        module = mlir.ir.Module.create()
        with mlir.ir.InsertionPoint(module.body):
            operation = mlir.ir.Operation.create(
                "stablehlo.constant", (attribute.type,), (), {"value": attribute}
            )
        got = mlir.constant_elements(operation, shaped((count,), dtype))
    assert got is not None
    assert got.dtype == dtype
    assert got.tobytes() == values.tobytes()


CANNOT = {
    "a dynamic shape": (
        body(
            """
            %0 = stablehlo.tanh %x : tensor<?xf32>
            return %0 : tensor<?xf32>
            """,
            "(%x: tensor<?xf32>) -> tensor<?xf32>",
        ),
        "dynamic shape",
    ),
    "a token": (
        body(
            """
            %0 = stablehlo.after_all : !stablehlo.token
            return %x : tensor<3xf32>
            """
        ),
        "token",
    ),
    "a side effect": (
        body(
            """
            stablehlo.custom_call @Print(%x) {has_side_effect = true} : (tensor<3xf32>) -> ()
            return %x : tensor<3xf32>
            """
        ),
        "side effect",
    ),
    "random numbers of the device": (
        body(
            """
            %a = stablehlo.constant dense<0.0> : tensor<f32>
            %s = stablehlo.constant dense<3> : tensor<1xi64>
            %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM
              : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
            return %0 : tensor<3xf32>
            """
        ),
        "stablehlo.rng",
    ),
}


def test_a_program_that_is_nested_too_deeply_is_not_raised() -> None:
    begin = '"stablehlo.case"(%i) ({ '
    end = "stablehlo.return }) : (tensor<i32>) -> () "
    depth = 150  # the parser itself stops a process at some thousands
    inner = begin * depth + end * depth
    text = body(f"{inner}\nreturn %i : tensor<i32>", "(%i: tensor<i32>) -> tensor<i32>")
    module = mlir.parsed(text)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        with pytest.raises(UnraisableError, match="nested too deeply"):
            raise_module(module)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("name", CANNOT)
def test_a_program_that_is_no_function_of_arrays_is_not_raised(name: str) -> None:
    text, message = CANNOT[name]
    with pytest.raises(UnraisableError, match=message):
        raised(text)


@pytest.mark.parametrize(
    ("operation", "primitive"),
    [("stablehlo.tan", "tan"), ("chlo.tan", "tan"), ("stablehlo.exponential", "exp")],
)
def test_an_operation_of_one_operand_is_a_primitive(operation: str, primitive: str) -> None:
    arrow = " -> tensor<3xf32>" if operation.startswith("chlo") else ""
    text = f"%y = {operation} %x : tensor<3xf32>{arrow}\nreturn %y : tensor<3xf32>"
    program = raised(body(text))
    assert names(program) == [primitive]
    assert not program.eqns[0].params
    x = np.float32([-1.5, 0.25, 3])
    expected = {"tan": np.tan, "exp": np.exp}[primitive](x)
    np.testing.assert_allclose(run(program, x)[0], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("operation", "primitive"),
    [
        ("stablehlo.exponential", "exp"),
        ("stablehlo.log", "log"),
        ("stablehlo.sqrt", "sqrt"),
        ("stablehlo.tan", "tan"),
        ("chlo.tan", "tan"),
        ("stablehlo.abs", "abs"),
    ],
)
def test_a_complex_function_is_a_primitive_without_our_corrections(
    operation: str, primitive: str
) -> None:
    out = "f32" if primitive == "abs" else "complex<f32>"
    z, result = "tensor<4xcomplex<f32>>", f"tensor<4x{out}>"
    text = f'%y = "{operation}"(%x) : ({z}) -> {result}\nreturn %y : {result}'
    program = raised(body(text, f"(%x: {z}) -> {result}"))
    assert names(program) == [primitive]
    lowered = str(lower_module(program, ENTRY))
    emitted = re.findall(r"(?:stablehlo|chlo)\.\w+", lowered)
    assert emitted == [operation.replace("chlo.tan", "stablehlo.tan")]
    x = np.complex64([0.5 - 0.25j, 2j, -1 + 1j, 3])
    value = {"exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tan": np.tan, "abs": np.abs}[primitive]
    np.testing.assert_allclose(run(program, x)[0], value(x), rtol=1e-5, atol=1e-6)
    ours = getattr(olympus.lax, primitive)
    tangents = [
        olympus.jvp(function, [x], [np.ones_like(x)])[1]
        for function in (lambda x: evaluate(program, [x])[0], ours)
    ]
    np.testing.assert_allclose(*tangents, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "axis", "reverse"), [("cumsum", 1, False), ("cummax", 0, True), ("cumprod", 0, False)]
)
def test_a_reduction_over_whole_windows_is_cumulative(name: str, axis: int, reverse: bool) -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((4, 6)), "float32")
    function = getattr(jax.lax, name)
    size = x.shape[axis]
    combine, start = {
        "cumsum": (jax.lax.add, 0.0),
        "cummax": (jax.lax.max, -np.inf),
        "cumprod": (jax.lax.mul, 1.0),
    }[name]
    window = tuple(size if i == axis else 1 for i in range(2))
    before = (0, size - 1) if reverse else (size - 1, 0)
    padding = [before if i == axis else (0, 0) for i in range(2)]

    def by_windows(x: Any) -> Any:
        return jax.lax.reduce_window(x, np.float32(start), combine, window, (1, 1), padding)

    program = raise_module(of_jax(by_windows, x))
    (eqn,) = program.eqns
    assert (eqn.primitive.name, eqn.params) == (name, {"axis": axis, "reverse": reverse})
    (result,) = run(program, x)
    np.testing.assert_allclose(result, function(x, axis, reverse=reverse), rtol=1e-6)
