"""The stages as programs written for JAX use them: platforms, dialects, options, trees of types."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest

import olympus
from olympus.errors import LoweringError, OlympusWarning, UsageError
from olympus.stages import ArgInfo, Lowered
from olympus_core.mlir import bindings as mlir
from tests.blocks import networks

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


def test_arguments_and_results_have_names_types_and_sizes():
    traced = olympus.jit(scaled, donate_argnums=0).trace(X, by=3.0)
    for stage in (traced, traced.lower(), traced.lower().compile()):
        x, by = stage.arguments
        assert (x.name, x.dtype_name, x.shape, x.bytes, x.donated) == (
            "x",
            "float32",
            (3,),
            12,
            True,
        )
        assert (by.name, by.aval) == ("by", olympus.core.ShapedArray((), np.float32, True))
        assert stage.args_info == ((x,), {"by": by})
        assert [(r.name, r.bytes) for r in stage.results] == [
            ("result['n']", 4),
            ("result['y']", 12),
        ]
    assert x == ArgInfo((3,), np.dtype("float32"), donated=True)
    assert x != ArgInfo((3,), np.dtype("float32"), donated=False)
    assert repr(x) == "ArgInfo(_aval=ShapedArray(float32[3]), donated=True)"


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
    with pytest.raises(UsageError, match="no platform is named 'cudda'") as caught:
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
    hlo = ox.jit(named(ox)).lower(X).compiler_ir("hlo")
    assert "sine(" in hlo.as_hlo_text()
    assert hlo.as_hlo_dot_graph().startswith("digraph")
    assert b"sine" in hlo.as_serialized_hlo_module_proto()
    assert "stablehlo" in str(ox.jit(named(ox)).lower(X).compiler_ir())


def test_a_dialect_that_is_not_there():
    with pytest.raises(UsageError, match="'mhlo'"):
        olympus.jit(named(olympus)).lower(X).compiler_ir("mhlo")


@BOTH
@pytest.mark.parametrize("named_by", [{"donate_argnums": 0}, {"donate_argnames": "x"}], ids=str)
@pytest.mark.parametrize("how", ["call", "keyword", "lower"])
def test_an_unusable_donation_causes_a_warning(ox, named_by, how):
    def total(x):
        return x.sum()

    def used(x):
        return x + 1

    for fun, warns in ((total, True), (used, False)):
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
        assert [t.startswith(start) for t in texts] == [True] * warns


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


@BOTH
def test_options_are_those_of_the_outermost_program(ox):
    fast = ox.jit(lambda x: x + 2, compiler_options={"xla_cpu_enable_fast_math": True})
    message = "`compiler_options` can only be passed to top-level `jax.jit`"
    with pytest.raises(ValueError, match=message):
        ox.jit(lambda x: fast(x) * 2)(X)


def test_options_of_compile_go_before_those_of_jit():
    wrong = olympus.jit(lambda x: x + 3, compiler_options={"xla_cpu_enable_fast_math": "maybe"})
    lowered = wrong.lower(X)
    with pytest.raises(UsageError, match="maybe"):
        lowered.compile()
    np.testing.assert_array_equal(lowered.compile({"xla_cpu_enable_fast_math": False})(X), X + 3)


def test_options_are_part_of_a_builds_key():
    from olympus_cli.program.stages import stored_types

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


def test_an_xla_computation_returns_the_shapes_of_its_results():
    _, shapes = olympus.xla_computation(lambda x: {"y": x, "n": (x.sum(),)}, return_shape=True)(X)
    assert (shapes["y"].shape, shapes["y"].dtype, shapes["y"].named_shape) == ((3,), "float32", {})
    assert shapes["n"][0].named_shape == {}
    assert shapes["y"] == olympus.ShapeDtypeStruct((3,), "float32")
    for value in (True, False):
        with pytest.warns(OlympusWarning, match="instantiate_const_outputs has no effect"):
            olympus.xla_computation(abs, instantiate_const_outputs=value)


def read_again(lowered, placement=None):
    """The same program, made from its StableHLO alone."""
    module = mlir.parsed(lowered.as_text(debug_info=True))
    return Lowered(lowered.signature, module, lowered.target, placement)


def decay(x, weights):
    step = lambda x, w: (olympus.numpy.tanh(x @ w), x.sum())  # noqa: E731
    return olympus.lax.scan(step, x, weights)


def halve(x):
    return olympus.lax.while_loop(lambda x: x[0] > 1, lambda x: x / 2, x)


STACK = np.random.default_rng(0).normal(size=(5, 3, 3)).astype(np.float32)
MODULES = {
    "operations": (scaled, (X,)),
    "a loop": (decay, (np.eye(3, dtype=np.float32), STACK)),
    "LAPACK": (olympus.numpy.linalg.eigh, (STACK[0] @ STACK[0].T,)),
    "repeated blocks": (networks.step, (networks.params(8), networks.X)),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_alone_is_a_lowered_program(name):
    function, args = MODULES[name]
    original = olympus.jit(function).lower(*args)
    lowered = read_again(original)
    assert lowered.as_text() == original.as_text()
    assert str(mlir.parsed(lowered.bytecode())) == str(mlir.parsed(original.bytecode()))
    assert vars(lowered.cost()) == vars(original.cost())
    compiled = lowered.compile()
    assert compiled.cost().by("line") == original.cost().by("line")
    assert compiled.memory().peak == original.compile().memory().peak
    expected = olympus.tree.leaves(original.compile()(*args))
    for result, wanted in zip(olympus.tree.leaves(compiled(*args)), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
    loaded = lowered.load(compiled.serialize())
    assert loaded.out_tree == compiled.out_tree and "HloModule" in loaded.as_text()
    assert "stablehlo" in lowered._repr_html_()


def test_a_module_alone_has_no_olympuspr():
    lowered = read_again(olympus.jit(scaled).lower(X))
    with pytest.raises(UsageError, match="'scaled' was read as StableHLO, and has no Olympuspr"):
        _ = lowered.olympuspr
    assert (lowered.blocks, lowered.inspections, lowered.placement()) == ((), None, None)
    np.testing.assert_array_equal(lowered.compile(repeats="auto")(X)["y"], X * 2)
    with pytest.raises(UsageError, match="repeats"):
        lowered.compile(repeats="on")


def test_a_module_alone_counts_the_given_trips_of_a_loop():
    original = olympus.jit(halve).lower(X)
    lowered = read_again(original)
    (unknown,) = lowered.cost().unknown
    line = unknown.line.rpartition("/")[2]
    assert vars(lowered.cost({line: 7})) == vars(original.cost({line: 7}))
    with pytest.raises(UsageError):
        lowered.cost({"elsewhere.py:1": 7})


def test_a_module_alone_donates_its_arguments():
    original = olympus.jit(lambda x, y: (x + y, y), donate_argnums=0).lower(X, X)
    x = olympus.numpy.asarray(X)
    read_again(original).compile()(x, X)
    assert x.is_deleted()


def test_a_module_alone_runs_on_the_devices_of_its_placement():
    mesh = olympus.make_mesh((1,), ("data",), olympus.sharding.AxisType.Auto)
    rows = olympus.sharding.NamedSharding(mesh, olympus.sharding.PartitionSpec("data"))
    x = olympus.device_put(X, rows)
    original = olympus.jit(lambda x: x * 2).lower(x)
    compiled = read_again(original, original.placement()).compile()
    assert compiled(x).sharding == original.compile()(x).sharding
    assert compiled.input_shardings == original.compile().input_shardings


def test_portable_linear_algebra_calls_no_lapack():
    traced = olympus.jit(lambda x: olympus.numpy.linalg.qr(x)[0]).trace(np.eye(3, dtype="float32"))
    assert "lapack_sgeqrf_ffi" in traced.lower().as_text()
    lowered = traced.lower(linalg="portable")
    assert "lapack" not in lowered.as_text()
    np.testing.assert_allclose(np.abs(lowered.compile()(np.eye(3, dtype="float32"))), np.eye(3))
    with pytest.raises(UsageError, match='linalg is "auto" or "portable", and got \'lapack\''):
        traced.lower(linalg="lapack")


@pytest.mark.parametrize("size", [3, 2000])
def test_an_argument_may_change_after_the_call(size: int) -> None:
    compiled = olympus.jit(lambda x: (x * 2, x)).lower(np.ones(size, "float32")).compile()
    x = np.ones(size, "float32")
    for _ in range(20):
        x[:] = 1
        doubled, same = compiled(x)
        x[:] = 7
        assert (np.asarray(doubled) == 2).all() and (np.asarray(same) == 1).all()


def test_later_calls_accept_and_refuse_the_same_arguments() -> None:
    """jaxlib makes the later calls with arguments of a known kind."""
    x = np.arange(3, dtype="float32")
    compiled = olympus.jit(lambda x, n: x * n).lower(x, np.float32(2)).compile()
    for _ in range(3):
        for value, n in (
            (x, np.float32(2)),
            (x, 2.0),
            (x, np.array(2, "float32")),
            (np.stack([x, x], 1)[:, 0], np.float32(2)),
            (olympus.numpy.asarray(x), olympus.numpy.float32(2)),
            (x.astype("float64"), np.float32(2)),
        ):
            np.testing.assert_array_equal(compiled(value, n), [0, 2, 4])
        for wrong in ((x[:2], 2.0), (x, np.int32(2)), (x,), (x, None), (x.astype(">f4"), 2.0)):
            with pytest.raises(TypeError):
                compiled(*wrong)


def test_wide_arguments_are_not_narrowed() -> None:
    with olympus.enable_x64():
        x = np.array([1e-300, 2.0**40])
        compiled = olympus.jit(lambda x, n: x * n).lower(x, np.int64(1)).compile()
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x, np.int64(2**40)), x * 2.0**40)


def test_a_deleted_argument_is_named_in_every_call() -> None:
    x = olympus.numpy.ones(3)
    compiled = olympus.jit(lambda x: x + 1).lower(x).compile()
    compiled(x), compiled(x)
    x.delete()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="deleted"):
            compiled(x)
