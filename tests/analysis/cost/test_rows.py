"""Rows by line, scope, operation and dtype: exact sums, the user's lines, forward and backward."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import olympus as ox
import olympus.numpy as jnp
from olympus import lax, nn
from olympus.errors import UsageError
from olympus.stages import Compiled
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.project import load_project
from olympus_core.analysis.cost.cost import cost_of_module
from olympus_core.analysis.sources.places import Place, Places, read_name
from olympus_core.lowering import whole_module as lowering
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.mlir import bindings as mlir
from tests.blocks.networks import X, forward, params
from tests.primitives.cases_collective import AXIS_CASES, SIZE

EXAMPLES = Path(__file__).parents[3] / "examples"
KINDS = ("line", "scope", "operation", "dtype")
FIGURES = ("flops", "transcendentals", "bytes", "operations", "collective_bytes")


def f32(*shape: int):
    return ox.ShapeDtypeStruct(shape, "float32")


def cost(f, *args):
    return ox.jit(f).lower(*args).cost()


def check_sums(figures):
    """Check that the rows of each kind add up to each figure."""
    least = figures.at_least
    for kind in KINDS:
        rows = figures.by(kind)
        for figure in FIGURES:
            assert sum(getattr(row, figure) for row in rows) == getattr(least, figure), figure
        assert sum(row.matmul_flops for row in rows) == sum(least.matmul_flops.values())
        assert sum(row.share for row in rows) == pytest.approx(1.0)
        assert [row.flops for row in rows] == sorted((r.flops for r in rows), reverse=True)
        for row in rows:
            assert 0 <= row.backward_flops <= row.flops
            assert 0 <= row.backward_bytes <= row.bytes
            assert row.direction in ("forward", "backward", "both")
            assert (row.direction == "forward") <= (row.backward_bytes == row.backward_flops == 0)


@pytest.mark.parametrize("example", sorted(p.parent.name for p in EXAMPLES.glob("*/olympus.toml")))
def test_rows_of_the_examples_add_up_and_have_lines(example):
    for name, target in load_project(EXAMPLES / example).targets.items():
        traced = load_target(target).trace()
        figures = traced.cost()
        assert figures.unknown == (), name
        assert figures.flops and figures.at_least is figures
        check_sums(figures)
        for row in figures.by("line"):
            # absolute, or relative in the file of a program; a node of an ONNX model is in its file
            file = EXAMPLES / example / row.key.rpartition(":")[0]
            model = [path for path in file.parents if path.suffix == ".onnx"]
            assert (model or [file])[0].is_file(), (name, row)
            is_library = example == "jax_flax" and "site-packages" in file.parts
            assert is_library or file.is_relative_to(EXAMPLES / example)


def test_outlined_blocks_cost_the_same_as_inlined_ones():
    traced = ox.jit(forward).trace(params(12), X)
    outlined, plain = (traced.lower(repeats=mode) for mode in ("auto", "off"))
    assert outlined.blocks and not plain.blocks
    assert outlined.cost().matmul_flops == plain.cost().matmul_flops
    assert outlined.cost().transcendentals == plain.cost().transcendentals
    check_sums(outlined.cost())


def layer(w, x):
    with ox.named_scope("blk"):
        h = jnp.tanh(x @ w)
    return (h * h).sum()


def line_of(function, offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def test_operations_of_grad_have_the_primal_line_and_are_marked_backward():
    figures = cost(ox.grad(layer, argnums=(0, 1)), f32(64, 32), f32(8, 64))
    check_sums(figures)
    product_flops = 2 * 8 * 64 * 32
    by_line = {row.key: row for row in figures.by("line")}
    product = by_line[line_of(layer, 2)]
    assert (product.matmul_flops, product.direction) == (3 * product_flops, "both")
    # and the product with the derivative of tanh
    assert product.backward_flops == 2 * product_flops + 8 * 32
    assert by_line[line_of(layer, 3)].direction == "backward"
    scopes = {row.key: row for row in figures.by("scope")}
    assert scopes.keys() == {"blk", ""}
    assert scopes["blk"].backward_flops == product.backward_flops


def test_operations_of_vmap_and_jvp_are_forward_at_the_users_line():
    mapped = cost(ox.vmap(layer, (None, 0)), f32(64, 32), f32(5, 8, 64))
    tangents = cost(lambda *xs: ox.jvp(layer, xs[:2], xs[2:]), *[f32(64, 32), f32(8, 64)] * 2)
    for figures in (mapped, tangents):
        check_sums(figures)
        assert {row.direction for row in figures.by("line")} == {"forward"}
        assert {row.key for row in figures.by("line")} <= {line_of(layer, i) for i in range(5)}
    assert mapped.matmul_flops == {"float32": 5 * 2 * 8 * 64 * 32}
    assert tangents.matmul_flops == {"float32": 3 * 2 * 8 * 64 * 32}


def library(x):
    return nn.softmax(jnp.var(x, axis=0)).max()


def test_functions_of_the_library_have_the_users_line():
    figures = cost(ox.grad(library), f32(9, 5))
    assert [row.key for row in figures.by("line")] == [line_of(library, 1)]


@ox.custom_vjp
def clipped(x):
    return x * 3.0


def clipped_bwd(x, ct):
    return (ct * jnp.cos(x),)


clipped.defvjp(lambda x: (clipped(x), x), clipped_bwd)


def test_a_backward_rule_of_the_user_has_its_own_lines():
    def loss(x):
        return (clipped(x) * x).sum()

    rows = {row.key: row for row in cost(ox.grad(loss), f32(8)).by("line")}
    rule = rows[line_of(clipped_bwd, 1)]
    assert (rule.direction, rule.flops, rule.transcendentals) == ("backward", 8, 8)
    assert rows[line_of(clipped.fun, 2)].direction == "forward"


@ox.custom_vjp
def squared(x):
    return x @ x


def squared_fwd(x):
    with ox.named_scope("fwd"):
        y = x @ x
        return y, y


def squared_bwd(y, ct):
    with ox.named_scope("bwd"):
        return (ct @ y,)


squared.defvjp(squared_fwd, squared_bwd)


@ox.custom_jvp
def square(x):
    return x @ x


@square.defjvp
def square_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    with ox.named_scope("jvp"):
        y = x @ x
        return y, t @ y


def scanned(f):
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]


AROUND = {
    "nothing": lambda f: f,
    "jit": ox.jit,
    "scan": scanned,
    "vmap": lambda f: lambda x: ox.vmap(f)(x[None])[0],
    "scan of vmap": lambda f: scanned(lambda x: ox.vmap(f)(x[None])[0]),
    "vmap of scan": lambda f: lambda x: ox.vmap(scanned(f))(x[None])[0],
    "checkpoint": ox.checkpoint,
    "scan of checkpoint": lambda f: scanned(ox.checkpoint(f)),
}


@pytest.mark.parametrize("around", AROUND)
def test_rules_have_their_own_lines_in_any_transformation(around):
    def loss(f):
        def scoped(x):
            with ox.named_scope("outer"):
                return f(x)

        return ox.value_and_grad(lambda x: AROUND[around](scoped)(x).sum())

    def costs_by_key(f, kind):
        rows = cost(loss(f), f32(8, 8)).by(kind)
        return {r.key: (r.matmul_flops, r.backward_flops) for r in rows if r.matmul_flops}

    product_flops = (3 if "scan" in around else 1) * 2 * 8**3
    recomputed = product_flops if around.endswith("checkpoint") else 0  # a residual is recomputed
    primal, way = (product_flops + recomputed, recomputed), (product_flops, product_flops)
    assert costs_by_key(squared, "line") == {
        line_of(squared_fwd, 2): primal,
        line_of(squared_bwd, 2): way,
    }
    assert costs_by_key(squared, "scope") == {"outer/fwd": primal, "outer/bwd": way}
    assert costs_by_key(square, "line") == {
        line_of(square_jvp, 4): primal,
        line_of(square_jvp, 5): way,
    }
    assert costs_by_key(square, "scope") == {
        "outer/jvp": (2 * product_flops + recomputed, product_flops + recomputed)
    }


def test_a_rule_of_the_library_has_the_line_of_the_call():
    def body(x):
        y = nn.silu(x)
        return jnp.sinc(y)

    figures = cost(ox.grad(lambda x: scanned(body)(x).sum()), f32(8))
    rows = {row.key: row for row in figures.by("line")}
    assert rows[line_of(body, 1)].transcendentals and rows[line_of(body, 2)].transcendentals
    assert sum(row.transcendentals for row in rows.values()) == (
        rows[line_of(body, 1)].transcendentals + rows[line_of(body, 2)].transcendentals
    )


def test_operations_that_a_checkpoint_recomputes_are_backward():
    def step(x):
        return jnp.tanh(jnp.tanh(x) * 2.0)

    def loss(x, wrap):
        return wrap(step)(x).sum()

    plain = cost(ox.grad(lambda x: loss(x, lambda f: f)), f32(8))
    recomputed = cost(ox.grad(lambda x: loss(x, ox.checkpoint)), f32(8))
    assert plain.transcendentals == 16
    assert recomputed.transcendentals >= 16
    (row,) = [r for r in recomputed.by("operation") if r.key == "tanh"]
    assert (row.direction, row.backward_bytes) == ("backward", row.bytes)


def test_the_gradient_of_a_scan_has_one_row_for_both_directions():
    def loss(w, x):
        return lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=7)[0].sum()

    figures = cost(ox.grad(loss), f32(16, 16), f32(4, 16))
    check_sums(figures)
    (row,) = [r for r in figures.by("operation") if r.key == "dot_general"]
    product_flops = 7 * 2 * 4 * 16 * 16
    assert (row.flops, row.backward_flops, row.direction) == (
        3 * product_flops,
        2 * product_flops,
        "both",
    )


def test_a_function_called_in_both_directions_is_split_by_its_calls():
    inner = ox.jit(lambda x: jnp.sin(x) * 2.0)

    @ox.custom_vjp
    def same(x):
        return inner(x)

    same.defvjp(lambda x: (same(x), None), lambda _, ct: (inner(ct),))
    lowered = ox.jit(ox.value_and_grad(lambda x: same(x).sum())).lower(f32(8))
    assert lowered.as_text().count("func.func private") == 1
    (row,) = [r for r in lowered.cost().by("operation") if r.key == "sine"]
    assert (row.transcendentals, row.bytes, row.backward_bytes) == (16, 128, 64)


def test_rows_by_dtype_and_operation_have_the_figures_of_each():
    def f(x, i):
        return (x.astype("bfloat16") @ x.astype("bfloat16").T).astype("float32"), i + 1, x > 0.0

    figures = cost(f, f32(4, 8), ox.ShapeDtypeStruct((3,), "int32"))
    check_sums(figures)
    dtypes = {row.key: row for row in figures.by("dtype")}
    assert dtypes.keys() == {"bfloat16", "float32", "int32"}
    assert dtypes["bfloat16"].matmul_flops == 2 * 4 * 8 * 4
    assert dtypes["int32"].flops == 0
    assert "compare" in {row.key for row in figures.by("operation")}
    with pytest.raises(UsageError, match="line, scope, operation, dtype"):
        figures.by("file")


@pytest.mark.parametrize("case", AXIS_CASES, ids=lambda case: case.id)
def test_the_bytes_of_collectives_add_up(case):
    (x,) = case.arrays(case.dtypes[0])
    program = ox.make_olympuspr(lambda x: case.call(lax, x), axis_env=[("i", SIZE)])(x[0])
    entry = EntryAttributes("f", axes=(("i", SIZE),))
    figures = cost_of_module(lowering.lower_module(program, entry))
    assert figures.unknown == ()
    assert (figures.collective_bytes == 0) == ("index" in case.id)
    for kind in KINDS:
        rows = figures.by(kind)
        assert sum(row.collective_bytes for row in rows) == figures.collective_bytes


def test_the_stages_share_one_cost():
    traced = ox.jit(layer).trace(f32(64, 32), f32(8, 64))
    lowered = traced.lower()
    figures = lowered.cost()
    assert lowered.cost() is figures
    assert lowered.compile().cost() is figures
    assert traced.cost().flops == figures.flops
    assert figures.intensity == figures.flops / figures.bytes
    assert figures.matmul_flops["float32"] <= figures.flops


def test_an_executable_without_its_program_has_no_cost():
    compiled = ox.jit(layer).lower(f32(64, 32), f32(8, 64)).compile()
    alone = Compiled(compiled.signature, compiled.executable, compiled.target)
    with pytest.raises(UsageError, match="without the program") as raised:
        alone.cost()
    assert "what it was compiled from" in raised.value.hint


def test_a_module_needs_a_main():
    with mlir.context(), pytest.raises(UsageError, match="'main'"):
        cost_of_module(mlir.ir.Module.parse("func.func @f() { return }"))


def test_the_program_for_a_gpu_costs_the_same_and_needs_no_compiler():
    traced = ox.jit(layer).trace(f32(64, 32), f32(8, 64))
    on_cpu = traced.lower().cost()
    on_gpu = traced.lower(ox.target("gpu", "h200")).cost()
    assert (on_cpu.flops, on_cpu.bytes) == (on_gpu.flops, on_gpu.bytes)


def test_locations_of_programs_of_jax_are_read():
    with mlir.context():
        places = Places(mlir.ir.Module.parse("module @jit_f {}"))
        loc = mlir.ir.Location
        line, caller = loc.file("a.py", 3, 1), loc.file("b.py", 9, 1)
        calls = loc.callsite(loc.name("loss", line), [loc.name("main", caller)])
        cases = {
            loc.name("jit(f)/jit(main)/transpose(jvp(blk))/dot_general", calls): Place(
                "a.py", 3, "blk", True
            ),
            loc.name("jit_f/a/b/sin", line): Place("a.py", 3, "a/b", False),
            loc.name("transpose(jit_f)/sin", line): Place("a.py", 3, "", True),
            loc.name("transpose(jit_f)/a (x)/sin", line): Place("a.py", 3, "a (x)", True),
            loc.name("jit_f/transpose(k)/sin", line): Place("a.py", 3, "transpose(k)", False),
            loc.name("jit(f)/jit(main)/transpose(jvp())/mul", line): Place("a.py", 3, "", True),
            loc.name("x['a/b/c']", line): Place("a.py", 3),
            loc.name("jit_f/transpose", line): Place("a.py", 3, "", False),
            # without a root, as in the functions that JAX calls
            loc.name("a/b/sin", line): Place("a.py", 3, "a/b"),
            loc.name("jvp(a)/b/sin", line): Place("a.py", 3, "a/b"),
            loc.name("transpose(jvp(a))/mul", line): Place("a.py", 3, "a", True),
            loc.name("transpose(a)/mul", line): Place("a.py", 3, "a", True),
            loc.fused([loc.unknown(), caller]): Place("b.py", 9, "", False),
            loc.unknown(): Place(),
        }
        for location, place in cases.items():
            assert places.of(location) == place
            assert places.of(location) is places.of(location)


@pytest.mark.parametrize("scope", ["transpose(k)", "a (x)", "jvp(", "f)/(g", "jit_named", "[0]"])
def test_a_scope_has_the_users_text(scope):
    def named(x):
        with ox.named_scope(scope):
            return jnp.tanh(x).sum()

    (forward,) = cost(named, f32(8)).by("scope")
    assert (forward.key, forward.direction) == (scope, "forward")
    (with_backward,) = cost(ox.value_and_grad(named), f32(8)).by("scope")
    assert (with_backward.key, with_backward.direction) == (scope, "both")
    named.__name__ = "transpose(f)/[g]"
    assert cost(named, f32(8)).by("scope") == (forward,)


def test_names_in_optimized_hlo_may_begin_with_the_names_of_calls():
    call = "transpose(jit_f)/a/jit"
    assert read_name(f"{call}/jit_f/a/b/add", inlined=True) == ("a/b", "add", True)
    assert read_name(f"{call}/transpose(jit_f)/a/add", inlined=True) == ("a", "add", True)
    assert read_name("jit_f/a/jit/jit_f/a/add", inlined=True) == ("a", "add", False)
    assert read_name("jit_f/a/add", inlined=True) == read_name("jit_f/a/add")


def test_a_cost_is_the_same_each_time():
    def build():
        return cost(ox.grad(layer), f32(64, 32), f32(8, 64))

    first, second = build(), build()
    assert repr(first) == repr(second)
    assert all(first.by(kind) == second.by(kind) for kind in KINDS)


def test_an_empty_program_costs_only_the_bytes_of_its_arguments_and_results():
    figures = cost(lambda x: x, f32(8))
    assert (figures.flops, figures.bytes, figures.operations) == (0, 0, 0)
    assert (figures.io_bytes, figures.by("line"), figures.intensity) == (64, (), None)
    nothing = cost(lambda x: x + 1.0, f32(0))
    assert (nothing.flops, nothing.bytes) == (0, 0)
    assert [row.share for row in nothing.by("line")] == [0.0] * len(nothing.by("line"))


def test_the_cost_does_not_depend_on_values():
    x = np.ones((8, 64), np.float32)
    figures = cost(layer, np.ones((64, 32), np.float32), x)
    assert figures.flops == cost(layer, f32(64, 32), f32(8, 64)).flops
