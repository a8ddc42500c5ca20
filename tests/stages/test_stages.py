"""The stages as programs written for JAX use them: platforms, dialects, options, trees of types."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest

import olympus
from olympus.errors import LoweringError, OlympusWarning, UsageError

BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
X = np.ones(3, np.float32)


def scaled(x, *, by=2.0):
    return {"y": x * by, "n": x.sum()}


@BOTH
def test_types_are_trees_in_each_stage(ox):
    traced = ox.jit(scaled).trace({"a": X, "b": (1,)}["a"], by=3.0)
    lowered = traced.lower()
    args, kwargs = traced.in_avals
    assert args == (ox.core.ShapedArray((3,), np.float32),)
    assert kwargs == {"by": ox.core.ShapedArray((), np.float32, weak_type=True)}
    for stage in (lowered, lowered.compile()):
        assert stage.in_avals == traced.in_avals
    assert traced.out_avals["n"] == ox.core.ShapedArray((), np.float32)
    nested = ox.jit(lambda p, x: x).trace({"w": [X, X]}, 1).in_avals
    assert ox.tree.structure(nested) == ox.tree.structure((({"w": [0, 0]}, 0), {}))


@BOTH
@pytest.mark.parametrize("platforms", [("cpu",), ("cuda",), ("tpu",)])
def test_a_platform_to_lower_for(ox, platforms):
    lowered = ox.jit(lambda x: x + 1).trace(X).lower(lowering_platforms=platforms)
    assert "stablehlo.add" in lowered.as_text()


def test_the_platform_is_the_target():
    traced = olympus.jit(lambda x: x + 1).trace(X)
    assert traced.lower(lowering_platforms=("cuda",)).target == olympus.target("gpu")
    assert traced.lower(lowering_platforms="gpu").target == olympus.target("gpu")
    assert traced.lower(lowering_platforms=()).target == olympus.target("cpu")
    both = traced.lower(lowering_platforms=("cpu", "cuda"))
    assert both.target == olympus.target("cpu")
    np.testing.assert_array_equal(both.compile()(X), X + 1)


def test_platforms_that_cannot_be_lowered_for():
    traced = olympus.jit(lambda x: x + 1).trace(X)
    with pytest.raises(UsageError, match="there is no platform 'cudda'") as caught:
        traced.lower(lowering_platforms=("cudda",))
    assert caught.value.hint == "did you mean 'cuda'?"
    with pytest.raises(UsageError, match="got both"):
        traced.lower(olympus.target("cpu"), lowering_platforms=("cpu",))
    sorts = olympus.jit(lambda x: olympus.lax.top_k(x, 2)).trace(X)
    texts = {p: sorts.lower(lowering_platforms=p).as_text() for p in ("cpu", "cuda")}
    if texts["cpu"] == texts["cuda"]:
        sorts.lower(lowering_platforms=("cpu", "cuda"))
    else:
        with pytest.raises(LoweringError, match="is another program on cuda than on cpu"):
            sorts.lower(lowering_platforms=("cpu", "cuda"))


def named(ox):
    def f(x):
        with ox.named_scope("inner"):
            return ox.numpy.sin(x) + 1  # the line

    return f


@BOTH
def test_hlo_with_and_without_the_users_lines(ox):
    lowered = ox.jit(named(ox)).lower(X)
    plain, full = lowered.as_text("hlo"), lowered.as_text("hlo", debug_info=True)
    assert "metadata" not in plain and __file__ not in plain
    assert 'inner/sin"' in full and "test_stages.py" in full
    line = named.__code__.co_firstlineno + 3
    assert f"line={line}" in full
    assert "sine(" in plain and "sine(" in full


@BOTH
def test_hlo_as_an_object(ox):
    made = ox.jit(named(ox)).lower(X).compiler_ir("hlo")
    assert "sine(" in made.as_hlo_text()
    assert made.as_hlo_dot_graph().startswith("digraph")
    assert b"sine" in made.as_serialized_hlo_module_proto()
    assert "stablehlo" in str(ox.jit(named(ox)).lower(X).compiler_ir())


def test_a_dialect_that_is_not_there():
    with pytest.raises(UsageError, match="'mhlo'"):
        olympus.jit(named(olympus)).lower(X).compiler_ir("mhlo")


@BOTH
@pytest.mark.parametrize("named_by", [{"donate_argnums": 0}, {"donate_argnames": "x"}], ids=str)
@pytest.mark.parametrize("how", ["call", "keyword", "lower"])
def test_a_donation_that_is_of_no_use_is_told(ox, named_by, how):
    def total(x):
        return x.sum()

    def used(x):
        return x + 1

    for fun, told in ((total, True), (used, False)):
        f = ox.jit(fun, **named_by)
        x = ox.numpy.ones(7)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if how == "lower":
                f.lower(x)
            elif how == "call":
                f(x)
            elif "donate_argnames" in named_by:
                f(x=x)
            else:
                f(x)
        start = "Some donated buffers were not usable: float32[7]"
        texts = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        assert [t.startswith(start) for t in texts] == [True] * told


@BOTH
def test_options_of_the_compiler(ox):
    fast = {"xla_cpu_enable_fast_math": True}
    f = ox.jit(lambda x: ox.numpy.sin(x) + 1, compiler_options=fast)
    np.testing.assert_allclose(f(X), np.sin(X) + 1, rtol=1e-5)
    np.testing.assert_allclose(f.lower(X).compile()(X), np.sin(X) + 1, rtol=1e-5)
    wrong = ox.jit(lambda x: x + 2, compiler_options={"xla_cpu_enable_fast_maths": True})
    with pytest.raises(Exception, match="xla_cpu_enable_fast_maths"):
        wrong(X)
    with pytest.raises(Exception, match="xla_cpu_enable_fast_maths"):
        wrong.lower(X).compile()


def test_options_are_those_of_the_outermost_program():
    wrong = olympus.jit(lambda x: x + 2, compiler_options={"xla_cpu_enable_fast_maths": True})
    np.testing.assert_array_equal(olympus.jit(lambda x: wrong(x) * 2)(X), (X + 2) * 2)


def test_options_of_compile_go_before_those_of_jit():
    wrong = olympus.jit(lambda x: x + 3, compiler_options={"xla_cpu_enable_fast_math": "maybe"})
    lowered = wrong.lower(X)
    with pytest.raises(UsageError, match="maybe"):
        lowered.compile()
    np.testing.assert_array_equal(lowered.compile({"xla_cpu_enable_fast_math": False})(X), X + 3)


def test_options_are_part_of_a_builds_key():
    from olympus_cli.builder.key import stored_types

    keys = [
        stored_types(olympus.jit(lambda x: x, compiler_options=options).trace(X))
        for options in (None, {"xla_cpu_enable_fast_math": True})
    ]
    assert keys[0] != keys[1]


@BOTH
def test_the_programs_that_a_function_keeps(ox):
    f = ox.jit(lambda x: x + 1)
    assert f._cache_size() == 0
    f(X), f(X)
    assert f._cache_size() == 1
    f(X[:2])
    assert f._cache_size() == 2
    f.clear_cache()
    assert f._cache_size() == 0
    f(X)
    f._clear_cache()
    assert f._cache_size() == 0


def test_what_an_xla_computation_says_of_its_results():
    _, shapes = olympus.xla_computation(lambda x: {"y": x, "n": (x.sum(),)}, return_shape=True)(X)
    assert (shapes["y"].shape, shapes["y"].dtype, shapes["y"].named_shape) == ((3,), "float32", {})
    assert shapes["n"][0].named_shape == {}
    assert shapes["y"] == olympus.ShapeDtypeStruct((3,), "float32")
    for value in (True, False):
        with pytest.warns(OlympusWarning, match="instantiate_const_outputs has no effect"):
            olympus.xla_computation(abs, instantiate_const_outputs=value)
