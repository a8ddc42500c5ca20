"""Exported programs: fields, calls, derivatives, platforms, and symbolic shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import ShapeDtypeStruct, export, grad, jit, lax, random, tree_util, vjp
from olympus.export import DisabledSafetyCheck, Exported, symbolic_shape
from olympus.sharding import Mesh, NamedSharding, PartitionSpec
from olympus_core.base.errors import (
    InconclusiveDimensionOperation,
    ShapeError,
    TransformError,
    UsageError,
)
from olympus_core.export.checks import check_calls
from olympus_core.mlir.bindings import parsed

F32 = np.float32
X = np.arange(4, dtype=F32)


def exported(function: Callable[..., Any], vjp_order: int = 0, **options: Any) -> Any:
    """Return `export(function, ...)` whose result was serialized and deserialized."""

    def run(*args: Any, **kwargs: Any) -> Exported:
        program = export.export(function, **options)(*args, **kwargs)
        return export.deserialize(program.serialize(vjp_order=vjp_order))

    return run


def close(x: Any, y: Any) -> None:
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5)


def test_fields_of_an_exported_function() -> None:
    @jit
    def my_fun(x: Any) -> Any:
        return jnp.sin(x)

    program = export.export(my_fun)(ShapeDtypeStruct((4,), F32))
    aval = olympus.core.ShapedArray((4,), F32)
    assert program.fun_name == "my_fun"
    assert program.platforms == (export.default_export_platform(),) == ("cpu",)
    assert program.in_tree == tree_util.tree_structure(((1,), {}))
    assert program.in_avals == program.out_avals == (aval,)
    assert (program.nr_devices, program.module_kept_var_idx) == (1, (0,))
    assert not program.uses_global_constants
    assert program.ordered_effects == program.unordered_effects == ()
    assert "stablehlo.sine" in program.mlir_module()
    assert str(program.mlir_module(serialized=False)) == program.mlir_module()
    assert str(program) == "Exported(fun_name=my_fun, ...)"
    least = export.minimum_supported_calling_convention_version
    assert least <= program.calling_convention_version
    assert program.calling_convention_version <= export.maximum_supported_calling_convention_version


def test_the_type_of_a_python_number_is_weak() -> None:
    program = exported(jit(lambda x: x * 2))(1.0)
    assert [a.weak_type for a in (*program.in_avals, *program.out_avals)] == [True, True]
    for x in (2.0, F32(2)):
        close(program.call(x), 4)
        close(jit(program.call)(x), 4)


def test_arguments_are_trees_with_keywords() -> None:
    def f(pair: Any, *, a: Any, b: Any) -> Any:
        return {"res": pair, "a": a, "b": b}

    program = exported(jit(f))((X, 2 * X), a=X, b=X)
    assert program.in_tree == tree_util.tree_structure((((X, X),), {"a": X, "b": X}))
    close(program.call((X, 2 * X), a=X, b=X)["res"][1], 2 * X)


def test_only_a_staged_function_is_exported() -> None:
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(lambda x: x)
    close(exported(jnp.sin)(X).call(X), np.sin(X))


def test_static_arguments_are_not_arguments_of_the_program() -> None:
    def f(x: Any, c: Any) -> Any:
        return x * c

    close(exported(jit(f, static_argnums=1))(X, 3).call(X), 3 * X)
    close(exported(jit(f, static_argnames=["c"]))(X, c=3).call(X), 3 * X)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_a_program_is_called_on_its_platforms(platform: str) -> None:
    with pytest.raises(ValueError, match="Function 'sin' was exported for platforms"):
        exported(jnp.sin, platforms=[platform])(X).call(X)
    check = DisabledSafetyCheck.platform()
    close(exported(jnp.sin, platforms=[platform], disabled_checks=[check])(X).call(X), np.sin(X))
    with pytest.raises(UsageError, match="no platform is named 'abacus'"):
        export.export(jnp.sin, platforms=["abacus"])


def test_platforms_have_one_module_or_one_each() -> None:
    def f(x: Any) -> Any:
        return lax.platform_dependent(x, cpu=lambda x: 2 * x, default=lambda x: 3 * x)

    program = exported(jit(f), platforms=("tpu", "cpu", "cuda"))(X)
    assert program.platforms == ("tpu", "cpu", "cuda")
    close(program.call(X), 2 * X)
    assert len(set(program.modules)) == 2
    assert len(set(export.export(jnp.sin, platforms=("tpu", "cpu"))(X).modules)) == 1


def test_calls_in_traced_functions_have_separate_functions() -> None:
    first = exported(jit(lambda x: jit(lambda y: y + 1)(x)))(X)
    second = exported(jit(lambda x: jit(lambda y: y * 3)(first.call(x))))(X)
    close(jit(lambda x: second.call(first.call(x)) + first.call(x))(X), 3 * (X + 2) + X + 1)
    close(jit(lambda x: lax.scan(lambda c, r: (c, first.call(r)), 0, x)[1])(X[None])[0], X + 1)


def test_a_donated_argument() -> None:
    program = exported(jit(jnp.sin, donate_argnums=(0,)))(X)
    x = jnp.asarray(X)
    close(jit(lambda x: x + program.call(x))(x), X + np.sin(X))
    close(program.call(x), np.sin(X))
    close(x, X)


def shardings(count: int, axis: str = "x") -> tuple[NamedSharding, NamedSharding]:
    """Return a sharding of rows over devices, and one of whole arrays."""
    mesh = Mesh(np.array(olympus.devices()[:count]), (axis,))
    return NamedSharding(mesh, PartitionSpec(axis)), NamedSharding(mesh, PartitionSpec())


def of_two_devices(**options: Any) -> Exported:
    rows, whole = shardings(2)
    f = jit(lambda x, y: (x * y, y.sum()), in_shardings=(rows, whole), out_shardings=(rows, whole))
    program: Exported = exported(f, **options)(X, X)
    return program


def test_a_program_of_several_devices() -> None:
    program = of_two_devices()
    assert program.nr_devices == 2
    assert program.in_shardings_hlo == program.out_shardings_hlo == (None, None)
    for axis in ("x", "rows"):
        rows, whole = shardings(2, axis)
        product, total = jit(program.call, in_shardings=(rows, whole))(X, X)
        close(product, X * X)
        close(total, X.sum())
        assert product.sharding.is_equivalent_to(rows, 1)
    mesh = shardings(2)[0].mesh
    assert program.in_shardings_jax(mesh) == shardings(2)
    assert program.out_shardings_jax(mesh) == shardings(2)
    placed = [olympus.device_put(X, s) for s in shardings(2)]
    close(program.call(*placed)[0], X * X)
    one = exported(jnp.sin)(X)
    assert one.in_shardings_jax(mesh) == one.out_shardings_jax(mesh) == (None,)
    close(jit(one.call, in_shardings=shardings(2)[0])(X), np.sin(X))


def test_a_program_of_several_devices_needs_as_many() -> None:
    program = of_two_devices()
    message = "was exported for 2 devices and is called in a context with {} devices, which is not"
    with pytest.raises(ValueError, match=message.format(1)):
        program.call(X, X)
    with pytest.raises(ValueError, match=message.format(4)):
        jit(program.call, in_shardings=shardings(4))(X, X)


def test_the_derivative_of_a_program_of_several_devices() -> None:
    program = of_two_devices(vjp_order=1)
    assert program.vjp().nr_devices == 2
    slope = grad(lambda x, y: program.call(x, y)[0].sum())
    close(jit(slope, in_shardings=shardings(2))(X, X + 1), X + 1)
    mapped = jit(
        olympus.shard_map(
            lambda x: lax.psum(x, "x"),
            mesh=shardings(2)[0].mesh,
            in_specs=PartitionSpec("x"),
            out_specs=PartitionSpec(),
        )
    )
    close(jit(exported(mapped)(X).call, in_shardings=shardings(2)[0])(X), X[:2] + X[2:])


def test_sizes_of_several_scopes() -> None:
    structs = [ShapeDtypeStruct(symbolic_shape("a"), F32) for _ in range(2)]
    message = (
        r"Invalid mixing of symbolic scopes when exporting add.\n"
        r"Expected current \(from args\[0\]\) scope .*\nand found for 'a' \(args\[1\]\) scope"
    )
    with pytest.raises(ValueError, match=message):
        export.export(jit(jnp.add))(*structs)


def test_a_cotangent_of_integers() -> None:
    product = exported(jit(lambda i, x: (2 * i, x * x)), vjp_order=1)(np.arange(4), X).vjp()
    for zeros in (np.zeros(4, olympus.float0), np.zeros(4, bool)):
        close(product.call(np.arange(4), X, zeros, X)[1], 2 * X * X)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((X[:3],), r"Shape mismatch for args\[0\].shape\[0\] \(expected same constant\)"),
        ((X.astype("int32"),), r"Dtype mismatch for args\[0\]: expected float32"),
        ((X[None],), r"Rank mismatch for args\[0\]"),
        ((X, X), "must have the same pytree structure as when the function 'sin' was exported"),
        (((X,),), "structural differences"),
    ],
)
def test_other_arguments_are_refused(args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        exported(jnp.sin)(X).call(*args)


def test_derivatives_up_to_the_stored_order() -> None:
    cube = exported(jit(lambda x: x**3), vjp_order=3)(7.0)
    first = grad(cube.call)
    close(first(7.0), 147.0)
    close(grad(first)(7.0), 42.0)
    close(grad(grad(first))(7.0), 6.0)
    with pytest.raises(ValueError, match="No VJP is available for the exported function"):
        grad(grad(grad(first)))(7.0)
    with pytest.raises(ValueError, match="No VJP is available"):
        grad(exported(jit(lambda x: x**3))(7.0).call)(7.0)


def test_integers_have_no_derivative() -> None:
    def f(i: Any, x: Any) -> Any:
        return 2 * i, x * x

    i = np.arange(4, dtype=np.int32)
    program = exported(jit(f), vjp_order=1)(i, X)
    close(grad(lambda x: program.call(i, x)[1].sum())(X), 2 * X)
    _, pull_back = vjp(program.call, i, X)
    of_int, of_float = pull_back((np.zeros(4, olympus.float0), np.ones(4, F32)))
    assert of_int.dtype == olympus.float0
    close(of_float, 2 * X)
    types = [a.short_name() for a in program.vjp().in_avals]
    assert types == ["i32[4]", "f32[4]", "bool[4]", "f32[4]"]


def test_the_vjp_of_a_donated_argument() -> None:
    with warnings.catch_warnings(action="ignore"):  # no result takes the buffer
        program = exported(jit(lambda x: jnp.sin(x).sum(), donate_argnums=0), vjp_order=1)(X)
    close(grad(program.call)(X), np.cos(X))


def test_a_symbolic_program_is_called_with_any_sizes() -> None:
    a, b = symbolic_shape("a, b", constraints=["a <= 10"])

    def f(x: Any, y: Any) -> Any:
        return x.mean(0), y.reshape(-1), jnp.arange(x.shape[0])

    program = exported(jit(f))(ShapeDtypeStruct((a, 3), F32), ShapeDtypeStruct((b, a + 2 * b), F32))
    assert program.uses_global_constants
    types = [aval.short_name() for aval in program.out_avals]
    assert types == ["f32[3]", "f32[a*b + 2*b^2]", "i32[a]"]
    for n, m in ((1, 1), (2, 3), (10, 2)):
        mean, flat, count = program.call(np.ones((n, 3), F32), np.ones((m, n + 2 * m), F32))
        close(mean, np.ones(3))
        assert flat.shape == (m * (n + 2 * m),)
        close(count, np.arange(n))
    x = np.ones((2, 3), F32)
    with pytest.raises(ShapeError, match=r"dimension size args\[1\].shape\[1\] \(= 9\)"):
        program.call(x, np.ones((3, 9), F32))
    with pytest.raises(ShapeError, match="constraint a <= 10"):
        program.call(np.ones((11, 3), F32), np.ones((1, 13), F32))


def test_a_symbolic_program_in_another_one() -> None:
    (b,) = symbolic_shape("b", constraints=["b <= 10"])
    scaled_sums = jit(lambda x: jnp.cumsum(x, 0) * x.shape[0])
    inner = exported(scaled_sums, vjp_order=1)(ShapeDtypeStruct((b, 2), F32))
    (c,) = symbolic_shape("c", constraints=["c <= 4"])

    def outer(x: Any) -> Any:
        return inner.call(jnp.concatenate([x, x]))

    program = exported(jit(outer), vjp_order=1)(ShapeDtypeStruct((c, 2), F32))
    x = np.arange(6, dtype=F32).reshape(3, 2)
    expected = np.cumsum(np.concatenate([x, x]), 0) * 6
    close(program.call(x), expected)
    close(grad(lambda x: program.call(x).sum())(x)[:, 0], [6 * (6 + 3), 6 * (5 + 2), 6 * (4 + 1)])
    (d,) = symbolic_shape("d")
    with pytest.raises(ShapeError, match="constraint b <= 10"):
        export.export(jit(outer))(ShapeDtypeStruct((d, 2), F32))


def test_variables_are_solved_from_the_arguments() -> None:
    (n,) = symbolic_shape("2*w + 1")
    program = exported(jit(lambda x: x * 1))(ShapeDtypeStruct((n,), F32))
    assert program.call(np.ones(5, F32)).shape == (5,)
    with pytest.raises(ValueError, match="Division had remainder 1"):
        program.call(X)
    with pytest.raises(ValueError, match="Expected value >= 1 for dimension variable 'w'"):
        program.call(X[:1])
    with pytest.raises(ValueError, match="Cannot solve for values of dimension variables"):
        export.export(jnp.sin)(ShapeDtypeStruct(symbolic_shape("a*b"), F32))
    mixed = ShapeDtypeStruct(symbolic_shape("a"), F32), ShapeDtypeStruct(symbolic_shape("a"), F32)
    with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
        export.export(jit(lambda x, y: (x, y)))(*mixed)


def test_an_undecided_branch_of_the_user_is_an_error_with_the_line() -> None:
    def f(x: Any) -> Any:
        return x if x.shape[0] == 1 else 2 * x

    (b,) = symbolic_shape("b")
    with pytest.raises(InconclusiveDimensionOperation, match=r"return x if x.shape\[0\] == 1"):
        export.export(jit(f))(ShapeDtypeStruct((b,), F32))
    (b,) = symbolic_shape("b", constraints=["b >= 2"])
    close(export.export(jit(f))(ShapeDtypeStruct((b,), F32)).call(X), 2 * X)


def test_symbolic_args_specs() -> None:
    args = np.ones((3, 4)), [X, np.ones(5, F32)]
    first, (second, third) = export.symbolic_args_specs(args, ("b, ...", [None, "a"]))
    assert [str(x.shape) for x in (first, second, third)] == ["(b, 4)", "(4,)", "(a,)"]
    one, two = export.symbolic_args_specs((X, X), "b")
    assert one.shape == two.shape
    assert export.is_symbolic_dim(one.shape[0])
    with pytest.raises(ValueError, match="prefix"):
        export.symbolic_args_specs((X,), ("b", "a"))
    with pytest.raises(ValueError, match="Cannot use both"):
        export.symbolic_args_specs((X,), "b", ["b >= 2"], export.SymbolicScope())


def test_random_keys_are_arguments() -> None:
    key = random.key(0)
    f = jit(lambda key: random.normal(key, (2,)))
    close(exported(f)(key).call(key), f(key))


def test_an_unstable_custom_call_is_refused() -> None:
    module = parsed(
        "module { func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
        "  %y = stablehlo.custom_call @my_kernel(%x) : (tensor<f32>) -> tensor<f32>\n"
        "  return %y : tensor<f32> } }"
    )
    with pytest.raises(
        ValueError, match=r"no compatibility guarantees. Examples are:\n  my_kernel"
    ):
        check_calls(module, ())
    allowed = DisabledSafetyCheck.custom_call("my_kernel")
    check_calls(module, (allowed,))
    assert allowed.is_custom_call() == "my_kernel"
    assert DisabledSafetyCheck.platform().is_custom_call() is None
    assert str(allowed) == "custom_call:my_kernel"


def test_an_exported_program_is_not_mapped() -> None:
    program = exported(jnp.sin)(X)
    with pytest.raises(TransformError, match="vmap of the exported program 'sin'"):
        olympus.vmap(program.call)(X[None])
    close(lax.map(program.call, X[None])[0], np.sin(X))
    with pytest.raises(TransformError):
        olympus.jvp(program.call, (X,), (X,))


def test_an_axis_that_may_have_length_1_is_not_squeezed() -> None:
    (b,) = symbolic_shape("b")
    with pytest.raises(InconclusiveDimensionOperation, match="'b' == '1' is inconclusive"):
        jit(jnp.squeeze).trace(ShapeDtypeStruct((b, 1), F32))
    (b,) = symbolic_shape("b", constraints=["b >= 2"])
    assert str(jit(jnp.squeeze).trace(ShapeDtypeStruct((b, 1), F32)).out_info.shape) == "(b,)"


@pytest.mark.parametrize(
    ("function", "constraint"),
    [
        (lambda x, y: x + y, "a == b"),
        (lambda x, y: x @ y, "a == b"),
        (lambda x, y: jnp.where(x > 0, x, y), "a == b"),
        (lambda x, y: x.at[:].set(y), "a == b"),
        (lambda x, y: lax.scan(lambda c, r: (c, r), 0.0, (x, y)), "a == b"),
        (lambda x, y: x + jnp.ones(4), "a == 4"),
        (lambda x, y: x.reshape(2, -1), "a % 2 == 0"),
    ],
)
def test_an_error_on_sizes_has_the_missing_constraint(
    function: Callable[..., Any], constraint: str
) -> None:
    a, b = symbolic_shape("a, b")
    types = [ShapeDtypeStruct((n,), F32) for n in (a, b)]
    with pytest.raises(ShapeError) as info:
        jit(function).trace(*types)
    assert info.value.hint is not None
    assert f"add the constraint '{constraint}'" in info.value.hint
    a, b = symbolic_shape("a, b", constraints=[constraint])
    jit(function).trace(*[ShapeDtypeStruct((n,), F32) for n in (a, b)])


def test_an_error_on_fixed_sizes_has_no_constraint() -> None:
    with pytest.raises(ShapeError) as info:
        jit(lambda x, y: x + y).trace(np.ones(3, F32), np.ones(4, F32))
    assert info.value.hint is None
