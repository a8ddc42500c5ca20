"""Passes of users, options of the compiler, contexts of lowering rules and functions of modules."""

from __future__ import annotations

import functools
import importlib
import linecache
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.source_info_util
import numpy as np
import pytest

import olympus as ox
import olympus.extend.core
import olympus.extend.linear_util
import olympus.interpreters.mlir

BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])
X = np.arange(3, dtype=np.float32)


def part(jx: Any, name: str) -> Any:
    return importlib.import_module(f"{jx.__name__}.{name}")


@BOTH
def test_a_pass_of_the_user_sees_each_module(jx: Any) -> None:
    xla, seen = part(jx, "extend.xla"), []
    name = f"sizes of {jx.__name__}"
    for stage in (xla.PipelineStage.PRE_SCHEDULER, xla.PipelineStage.POST_SCHEDULER):
        xla.register_hlo_module_transformation(
            lambda module, stage=stage: seen.append((stage, type(module))), name=name, stage=stage
        )
    try:
        run = jx.jit(lambda x: x * 5 - 11)
        np.testing.assert_array_equal(run(X), X * 5 - 11)
    finally:
        stages = [xla.PipelineStage.PRE_SCHEDULER, xla.PipelineStage.POST_SCHEDULER]
        assert [xla.clear_hlo_module_transformation(name, s) for s in stages] == [True, True]
    assert not xla.clear_hlo_module_transformation(name)
    assert {stage for stage, _ in seen} == set(stages) and all(t is bytes for _, t in seen)
    with pytest.raises(TypeError, match="stage must be a PipelineStage enum"):
        xla.register_hlo_module_transformation(len, name=name, stage=0)


def test_a_pass_of_another_platform() -> None:
    xla = part(ox, "extend.xla")
    with pytest.raises(NotImplementedError, match="in the compiler of the CPU alone"):
        xla.register_hlo_module_transformation(len, name="other", platforms=["cpu", "tpu"])


@BOTH
def test_serialized_shardings(jx: Any) -> None:
    sharding = part(jx, "extend.sharding")
    mine = sharding.get_hlo_sharding_from_serialized_proto(b"")
    assert mine.is_replicated()
    assert sharding.get_serialized_proto_from_hlo_sharding(mine) == b""
    proto = sharding.get_op_sharding_from_serialized_proto(b"\x08\x03\x1a\x01\x02\x22\x02\x00\x01")
    tiled = type(mine).from_proto(proto)
    again = sharding.get_serialized_proto_from_hlo_sharding(tiled)
    assert sharding.get_hlo_sharding_from_serialized_proto(again) == tiled
    assert "devices=[2]" in str(tiled)


def gspmd(jx: Any, dims: int) -> Any:
    """Return XLA's sharding of the rows of an array on two devices."""
    devices = np.array(jx.devices()[:2])
    named = part(jx, "sharding").NamedSharding(
        part(jx, "sharding").Mesh(devices, ("x",)), part(jx, "sharding").PartitionSpec("x")
    )
    xla = named._to_xla_hlo_sharding(dims)
    return named, part(jx, "extend.sharding").GSPMDSharding(jx.devices()[:2], xla)


GSPMD: list[Callable[[Any, Any, Any], Any]] = [
    lambda jx, named, x: repr(x),
    lambda jx, named, x: repr(x.with_memory_kind("pinned_host")),
    lambda jx, named, x: repr(type(x).get_replicated(jx.devices()[:2])),
    lambda jx, named, x: x == gspmd(jx, 2)[1],
    lambda jx, named, x: hash(x) == hash(gspmd(jx, 2)[1]),
    lambda jx, named, x: [x == other for other in (named, gspmd(jx, 1)[1], None)],
    lambda jx, named, x: [x.is_fully_replicated, x.num_devices, x.memory_kind],
    lambda jx, named, x: type(x).get_replicated(jx.devices()[:2]).is_fully_replicated,
    lambda jx, named, x: [x.is_equivalent_to(named, 2), named.is_equivalent_to(x, 2)],
    lambda jx, named, x: x.shard_shape((4, 3)),
    lambda jx, named, x: str(x.devices_indices_map((4, 3))),
    lambda jx, named, x: str(x._to_xla_hlo_sharding(2)),
    lambda jx, named, x: repr(jx.device_put(np.ones((4, 3)), x).sharding),
    lambda jx, named, x: repr(jx.jit(jx.numpy.sin, in_shardings=x)(np.ones((4, 3))).sharding),
    lambda jx, named, x: repr(jx.jit(jx.numpy.sin, out_shardings=x)(np.ones((4, 3))).sharding),
    lambda jx, named, x: [
        s.data.shape for s in jx.device_put(np.ones((4, 3)), x).addressable_shards
    ],
]


@pytest.mark.parametrize("read", GSPMD, ids=range(len(GSPMD)))
def test_shardings_in_the_form_of_xla(read: Callable[[Any, Any, Any], Any]) -> None:
    assert read(ox, *gspmd(ox, 2)) == read(jax, *gspmd(jax, 2))


def test_wrong_shardings_in_the_form_of_xla() -> None:
    _, rows = gspmd(ox, 2)
    with pytest.raises(ValueError, match="has 3 elements, which the sharding cannot cut into 2"):
        rows.shard_shape((3, 3))
    with pytest.raises(ValueError, match="is for arrays of 2 dimensions, not of 1"):
        ox.device_put(np.ones(4), rows)
    with pytest.raises(ValueError, match="Got memory kind: disk"):
        rows.with_memory_kind("disk")
    with pytest.raises(TypeError, match="needs an OpSharding or an HloSharding, and got None"):
        type(rows)(ox.devices()[:2], None)


@BOTH
def test_options_of_the_compiler(jx: Any) -> None:
    backend = part(jx, "extend.backend")
    options = backend.get_compile_options(1, 2, device_assignment=[[0, 1]])
    assert (options.num_replicas, options.num_partitions) == (1, 2)
    assert options.executable_build_options.use_spmd_partitioning
    assert options.device_assignment.computation_count() == 2
    with pytest.raises(ValueError, match="device"):
        backend.get_compile_options(2, 2, device_assignment=[[0, 1]])


def test_caches_of_users_are_cleared() -> None:
    cached = functools.lru_cache(abs)
    ox.extend.backend.register_backend_cache(cached, "magnitudes")
    cached(-3)
    ox.extend.backend.clear_backends()
    assert cached.cache_info().currsize == 0
    with pytest.raises(ValueError, match="the cache for nothing has no method cache_clear"):
        ox.extend.backend.register_backend_cache(3, "nothing")


@BOTH
def test_contexts_of_mlir(jx: Any) -> None:
    lowering, mlir = part(jx, "extend.lowering"), part(jx, "interpreters.mlir")
    assert lowering.LoweringRuleContext is mlir.LoweringRuleContext
    context = lowering.JaxIrContext()
    assert isinstance(context, mlir.ir.Context)
    context.append_dialect_registry(lowering.upstream_dialects)
    context.load_all_available_dialects()
    with context:
        assert "func.func" in str(mlir.ir.Module.parse("func.func @f() { return }"))


@BOTH
def test_the_axes_around_a_lowering_rule(jx: Any) -> None:
    core, mlir = part(jx, "extend.core"), part(jx, "interpreters.mlir")
    primitive, seen = core.Primitive(f"seen by {jx.__name__}"), []
    primitive.def_abstract_eval(lambda x: x)

    def rule(ctx: Any, x: Any) -> Any:
        seen.append(ctx.module_context.axis_context)
        return [x]

    mlir.register_lowering(primitive, rule)
    jx.jit(primitive.bind).lower(X)
    assert isinstance(seen[0], mlir.ShardingContext)
    auto = (jx.sharding.AxisType.Auto,)
    mesh = jx.make_mesh((2,), ("i",), auto, devices=jx.devices()[:2])
    spec = jx.sharding.PartitionSpec("i")
    jx.jit(jx.shard_map(primitive.bind, mesh=mesh, in_specs=spec, out_specs=spec)).lower(X[:2])
    assert isinstance(seen[1], mlir.SPMDAxisContext)
    assert seen[1].manual_axes == {"i"} and seen[1].mesh.axis_names == ("i",)
    assert isinstance(seen[1], mlir.AxisContext)
    assert mlir.Mesh is jx.sharding.Mesh
    kinds = (mlir.DEVICE_TO_DEVICE_TYPE, mlir.SEND_TO_HOST_TYPE, mlir.RECV_FROM_HOST_TYPE)
    assert kinds == (1, 2, 3)


def test_rules_that_emit_functions_of_programs() -> None:
    core, mlir = ox.extend.core, olympus.interpreters.mlir
    program = ox.make_jaxpr(lambda x: x * ox.numpy.asarray(X))(X)
    names = []
    for primitive in (core.Primitive("called"), core.Primitive("function")):
        primitive.multiple_results = True
        primitive.def_abstract_eval(lambda x: [x])

        def rule(ctx: Any, x: Any, own: Any = primitive) -> Any:
            if own.name == "function":
                jaxpr = ox.make_jaxpr(lambda x: x + 1)(X)
                function = mlir.lower_jaxpr_to_fun(ctx.module_context, "plus_one", jaxpr)
                names.append(function.attributes["sym_name"].value)
            return mlir.core_call_lowering(ctx, x, name="times", call_jaxpr=program)

        mlir.register_lowering(primitive, rule)
        lowered = ox.jit(lambda x, p=primitive: p.bind(x)[0]).lower(X)
        assert "call @times" in lowered.as_text()
        np.testing.assert_array_equal(lowered.compile()(X), X * X)
    assert names == ["plus_one"] and "@plus_one" in lowered.as_text()


@BOTH
def test_modules_are_merged(jx: Any) -> None:
    mlir = part(jx, "interpreters.mlir")
    texts = [
        "func.func @main() { return } func.func @f() { func.call @main() : () -> () return }",
        "func.func @main() { func.call @f() : () -> () return } func.func private @f() { return }",
    ]
    with mlir.make_ir_context():
        whole, other = map(mlir.ir.Module.parse, texts)
        assert mlir.merge_mlir_modules(whole, "main", other) == "main_0"
        whole.operation.verify()
        symbols = [f.attributes["sym_name"].value for f in whole.body.operations]
        assert symbols == ["main", "f", "main_0", "f_0"]
        assert "call @f_0()" in str(whole)
        if jx is ox:
            with pytest.raises(ValueError, match="no function main"):
                mlir.merge_mlir_modules(whole, "x", mlir.ir.Module.parse("func.func @f() {return}"))
    if jx is ox:
        with mlir.make_ir_context(), pytest.raises(ValueError, match="one MLIR context"):
            mlir.merge_mlir_modules(whole, "x", mlir.ir.Module.parse(texts[0]))


def test_name_scopes_as_values() -> None:
    mine, theirs = (part(jx, "extend.source_info_util") for jx in (ox, jax))
    texts = []
    for info in (mine, theirs):
        stack = info.new_name_stack("outer").extend("inner")
        assert isinstance(stack, info.NameStack) and len(stack.stack) == 2
        texts.append([str(stack), str(stack + info.new_name_stack("x")), str(info.NameStack())])
        with info.extend_name_stack("a"), info.transform_name_stack("jvp"):
            texts[-1].append(str(info.current_name_stack()))
            with info.transform_name_stack("vmap"):
                texts[-1].append(str(info.current_name_stack()))
                with info.extend_name_stack("b"), info.extend_name_stack("c"):
                    texts[-1].append(str(info.current_name_stack()))
        texts[-1].append(str(info.current_name_stack()))
    wanted = ["outer/inner", "outer/inner/x", "", "a/jvp()", "a/jvp(vmap())", "a/jvp(vmap(b))/c"]
    assert texts[0] == texts[1] == [*wanted, ""]


@BOTH
def test_files_of_a_library_are_excluded(jx: Any, tmp_path: Any) -> None:
    info, core = part(jx, "extend.source_info_util"), part(jx, "extend.core")
    del core
    path = tmp_path / jx.__name__ / "library.py"
    source = "def double(x):\n    return 2 * x\n"
    linecache.cache[str(path)] = (len(source), None, source.splitlines(True), str(path))
    module = types.ModuleType("library")
    exec(compile(source, str(path), "exec"), module.__dict__)
    (eqn,) = jx.make_jaxpr(lambda x: module.double(x))(X).jaxpr.eqns
    assert "library.py" in info.summarize(eqn.source_info)
    info.register_exclusion(str(tmp_path / jx.__name__))
    (eqn,) = jx.make_jaxpr(lambda x: module.double(x))(X[:2]).jaxpr.eqns
    assert "test_compiling.py" in info.summarize(eqn.source_info)


def test_handlers_of_types_of_users() -> None:
    mlir = olympus.interpreters.mlir

    class Third:
        """A constant of a type of its own."""

    mlir.register_constant_handler(Third, lambda x, aval: mlir.ir_constant(np.float32(1 / 3)))
    core = ox.extend.core
    primitive = core.Primitive("third")
    primitive.def_abstract_eval(lambda: core.ShapedArray((), "float32"))
    mlir.register_lowering(primitive, lambda ctx: [mlir.ir_constant(Third())])
    np.testing.assert_allclose(ox.jit(primitive.bind)(), 1 / 3, rtol=1e-6)
    assert core.ShapedArray in mlir.ir_type_handlers
    with mlir.make_ir_context():
        mlir.ir_type_handlers[Third] = lambda aval: mlir.token_type()
        try:
            assert str(mlir.aval_to_ir_type(Third())) == "!stablehlo.token"
        finally:
            del mlir.ir_type_handlers[Third]


@BOTH
def test_the_class_of_clients(jx: Any) -> None:
    backend, xla = part(jx, "extend.backend"), part(jx, "interpreters.xla")
    assert isinstance(backend.get_backend(), xla.Backend)


@BOTH
def test_trees_of_values_and_classes_of_effects(jx: Any) -> None:
    mlir, core = part(jx, "interpreters.mlir"), part(jx, "extend.core")
    leaves, structure = mlir.ir_tree_registry.flatten([1, (2, [3, {"a": 4}])])
    assert list(leaves) == [1, 2, 3, {"a": 4}]
    assert structure.unflatten(leaves) == [1, (2, [3, {"a": 4}])]

    class Mine(core.Effect):  # type: ignore[misc]
        """An effect without a meaning."""

    effects = mlir.lowerable_effects
    effects.add_type(Mine)
    assert effects.contains(Mine()) and not effects.contains(3)
    assert len(effects.filter_in([Mine(), 3])) == 1 and effects.filter_not_in([Mine(), 3]) == [3]


def test_programs_have_effects_that_can_be_lowered() -> None:
    program = ox.make_jaxpr(lambda x: ox.debug.print("{}", x))(X)
    assert program.jaxpr.effects
    assert not olympus.interpreters.mlir.lowerable_effects.filter_not_in(program.jaxpr.effects)


@BOTH
def test_the_memory_of_a_device(jx: Any) -> None:
    space = jx.memory.Space
    x = jx.device_put(X, space.Device)
    assert x.sharding.memory_kind == "device" and x.devices() == {jx.devices()[0]}
    assert {s.name for s in space} == {"Device", "Host", "Any"}
    y = jx.device_put(x, space.Host)
    assert y.sharding.memory_kind == "pinned_host" and y.devices() == x.devices()
    assert jx.device_put(y, space.Device).sharding.memory_kind == "device"
    np.testing.assert_array_equal(y, X)
