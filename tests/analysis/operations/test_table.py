"""The table of operations: it has a row for each, and an operation without a row is named."""

from __future__ import annotations

import doctest
import re

import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import _chlo_ops_gen, _stablehlo_ops_gen

import olympus as ox
from olympus_core.analysis.cost import cost
from olympus_core.analysis.cost.cost import cost_of_module
from olympus_core.analysis.cost.stablehlo import tensor_of
from olympus_core.analysis.operations import formulas, table, view
from olympus_core.analysis.operations.table import (
    TABLE,
    Operation,
    cost_of,
    hlo_name,
    name_of,
    operation_of,
)
from olympus_core.analysis.operations.view import Counts, OperationView, Tensor, WindowAxis
from olympus_core.ir.primitive import op
from olympus_core.mlir import bindings as mlir
from tests.primitives.cases import CASES
from tests.primitives.test_platforms import ON_CPU

#: Their number of iterations depends on data, on platforms without LAPACK.
ITERATIVE = ("eig", "svd")
LOOPS = "while-as_long_as_values_say"

#: The operations whose cost is unknown, and the reason.
WITHOUT_RULE = {
    "scan": "chlo.scan runs a region that no frontend here emits",
}


def dialect(module) -> set[str]:
    classes = [c for c in vars(module).values() if hasattr(c, "OPERATION_NAME")]
    return {c.OPERATION_NAME.partition(".")[2] for c in classes}


def row(dtype: str, *sizes: int) -> Tensor:
    return Tensor(dtype, sizes)


@pytest.mark.parametrize("module", [_stablehlo_ops_gen, _chlo_ops_gen], ids=["stablehlo", "chlo"])
def test_every_operation_of_the_dialects_has_a_rule(module):
    names = dialect(module)
    if module is _chlo_ops_gen:
        names = {name.removeprefix("broadcast_") for name in names}
    assert names - {"return"} - set(TABLE) == {name for name in WITHOUT_RULE if name in names}


def test_an_operation_has_one_row():
    names = [name for row_names, _ in table._ROWS for name in row_names.split()]
    assert len(names) == len(set(names)) == len(TABLE)
    opcodes = [row.opcode for row in TABLE.values() if row.opcode not in ("", "-")]
    assert all(operation_of(opcode) is TABLE[hlo_name(opcode)] for opcode in opcodes)


def test_an_opcode_without_a_row_is_a_kernel_of_unknown_cost():
    row = operation_of("an-opcode-of-next-year")
    assert row == Operation()
    assert row.cost is None and not any(row[2:])


def test_elementwise_primitives_lower_to_elementwise_rows():
    checked = set()
    for case in CASES:
        primitive = op.find(case.primitive)
        if primitive is None or not primitive.is_elementwise:
            continue
        lowered = ox.jit(lambda *xs, case=case: case.call(ox.lax, *xs)).lower(
            *case.arrays(case.dtypes[0])
        )
        names = re.findall(r"(?:stablehlo|chlo)\.(\w+)[ (]", lowered.as_text())
        primitives = [e.primitive for e in lowered.olympuspr.eqns]
        if not all(p.is_elementwise or p.is_broadcast for p in primitives):
            continue
        for name in {*names} - {"constant", "broadcast_in_dim", "reshape"}:
            assert TABLE[name].is_elementwise, (case.id, name)
        checked.add(case.primitive)
    assert {p.name for p in op.every() if p.is_elementwise} - checked == set()


@pytest.mark.parametrize("target", ["cpu", "gpu", "tpu"])
def test_no_row_of_the_table_of_primitives_is_unknown(target):
    place = {"cpu": None, "gpu": ox.target("gpu", "h200"), "tpu": ox.target("tpu")}[target]
    for case in CASES:
        if target != "cpu" and case.primitive in ON_CPU:
            continue  # only the CPU has them: tests/primitives/test_platforms.py
        args = case.arrays(case.dtypes[0])
        traced = ox.jit(lambda *xs, case=case: case.call(ox.lax, *xs)).trace(*args)
        figures = traced.lower(place).cost()
        loops = case.id == LOOPS or (target != "cpu" and case.id.startswith(ITERATIVE))
        assert {u.what for u in figures.unknown} == ({"while loop"} if loops else set()), case.id
        for kind in ("line", "scope", "operation", "dtype"):
            rows = figures.by(kind)
            for figure in ("flops", "transcendentals", "bytes", "operations"):
                total = getattr(figures.at_least, figure)
                assert sum(getattr(r, figure) for r in rows) == total, (case.id, kind, figure)


@pytest.mark.parametrize("module", [formulas, table, view, cost], ids=lambda m: m.__name__)
def test_the_examples_in_docstrings_run(module):
    names = {"jit": ox.jit, "numpy": ox.numpy, "Tensor": Tensor}
    names["ShapeDtypeStruct"] = ox.ShapeDtypeStruct
    figures = cost_of_module(module_of("func.func @main() { return }"))
    outcome = doctest.testmod(
        module, optionflags=doctest.ELLIPSIS, extraglobs=names | {"cost": figures}
    )
    assert outcome.attempted > 0 and outcome.failed == 0


def test_constants_in_resources_of_the_module_are_counted():
    figures = cost_of_module(
        module_of("""
        func.func @main() -> tensor<4xi32> {
          %0 = stablehlo.constant dense_resource<r> : tensor<4xi32>
          %1 = stablehlo.add %0, %0 : tensor<4xi32>
          return %1 : tensor<4xi32>
        }
        {-# dialect_resources: {
          builtin: { r: "0x0400000001000000020000000300000004000000" }
        } #-}""")
    )
    assert (figures.io_bytes, figures.bytes) == (16 + 16, 48)


def module_of(text: str) -> ir.Module:
    with mlir.context():
        return ir.Module.parse(text)


def test_an_unknown_call_is_named_and_its_bytes_count():
    figures = cost_of_module(
        module_of("""
        func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = stablehlo.add %x, %x : tensor<8xf32>
          %1 = stablehlo.custom_call @foo(%0) : (tensor<8xf32>) -> tensor<8xf32> loc(#line)
          return %1 : tensor<8xf32>
        }
        #line = loc("jit_f/foo"("m.py":7:1))""")
    )
    assert (figures.flops, figures.transcendentals, figures.matmul_flops) == (None, None, None)
    assert (figures.bytes, figures.operations) == (3 * 32 + 2 * 32, 2)
    assert (figures.at_least.flops, figures.at_least.unknown) == (8, ())
    assert [str(u) for u in figures.unknown] == [
        "the cost of the custom call foo at m.py:7 is not known: no rule gives its cost"
    ]
    assert figures.intensity is None


def test_an_unknown_shape_makes_flops_and_bytes_unknown():
    figures = cost_of_module(
        module_of("""
        func.func @main(%x: tensor<?xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.add %x, %x : tensor<?xf32>
          %1 = stablehlo.add %y, %y : tensor<4xf32>
          return %1 : tensor<4xf32>
        }""")
    )
    assert (figures.flops, figures.bytes) == (None, None)
    assert (figures.at_least.flops, figures.at_least.bytes) == (4, 48)
    assert figures.unknown[0].why == "it has a shape that is not known"


@pytest.mark.parametrize(
    ("target", "flops"),
    [
        ("lapack_sgetrf_ffi", 42),
        ("cusolver_getrf_ffi", 42),
        ("cublas_getrf_batched_ffi", 42),
        ("hipsolver_potrf_ffi", 21),
        ("__cusolver$cholesky", 21),
        ("Qr", 85),
        ("cusolver_syevd_ffi", 9 * 64),
        ("TopK", 0),
        ("cu_threefry2x32_ffi", 0),
        ("Sharding", 0),
    ],
)
def test_custom_calls_of_libraries_have_a_cost(target, flops):
    m = row("float32", 4, 4)
    op = OperationView("custom_call", (m,), (m,), {"target": target})
    assert cost_of(op).flops == flops
    assert name_of(op) == f"custom call {target}"


@pytest.mark.parametrize("target", ["lapack_sfoo_ffi", "cusolver_foo", "__cublas$gemm", "x"])
def test_unknown_custom_calls_have_no_cost(target):
    m = row("float32", 4, 4)
    assert cost_of(OperationView("custom_call", (m,), (m,), {"target": target})) is None


def test_a_product_of_a_library_with_known_axes_counts_as_a_product():
    m = row("float16", 4, 4)
    view = {"target": "__cublas$lt$matmul", "lhs_contracting": (1,)}
    figures = cost_of(OperationView("custom_call", (m, m), (m,), view))
    assert figures.matmul == {"float16": 2 * 4**3}


def test_operations_on_part_of_an_array_count_the_bytes_of_that_part():
    x, i = row("float32", 100, 4), row("int32", 7, 1)
    rows = row("float32", 7, 4)
    scalar = row("int32")
    assert cost_of(OperationView("gather", (x, i), (rows,))).bytes == 2 * 112 + 28
    assert (
        cost_of(OperationView("dynamic_slice", (x, scalar, scalar), (rows,))).bytes == 2 * 112 + 8
    )
    update = OperationView("dynamic_update_slice", (x, rows, scalar, scalar), (x,))
    assert cost_of(update).bytes == 2 * 112 + 8
    scatter = OperationView("scatter", (x, i, rows), (x,), bodies=(Counts(flops=1),))
    assert cost_of(scatter) == Counts(flops=28, bytes=3 * 112 + 28)
    assert cost_of(OperationView("iota", (), (x,))).bytes == 1600
    assert cost_of(OperationView("constant", (), (x,))) == Counts()


def test_collectives_count_the_bytes_that_they_move():
    part, full = row("float32", 4), row("float32", 16)
    addition = Counts(flops=1)
    reduced = cost_of(OperationView("all_reduce", (full,), (full,), bodies=(addition,)))
    assert (reduced.collective_bytes, reduced.flops) == (64, 16)
    assert cost_of(OperationView("all_gather", (part,), (full,))).collective_bytes == 64
    scattered = cost_of(OperationView("reduce_scatter", (full,), (part,), bodies=(addition,)))
    assert (scattered.collective_bytes, scattered.flops) == (64, 4)
    assert cost_of(OperationView("collective_permute", (part,), (part,))).collective_bytes == 16


def test_reductions_over_windows_count_their_additions():
    x = row("float32", 3, 10)
    add = (Counts(flops=1),)
    window = (WindowAxis(1), WindowAxis(10, padding=(9, 0)))
    running = OperationView("reduce_window", (x, row("float32")), (x,), {"window": window}, add)
    assert cost_of(running).flops == 3 * 9
    pooled = (WindowAxis(1), WindowAxis(2, stride=2))
    out = row("float32", 3, 5)
    pool = OperationView("reduce_window", (x, row("float32")), (out,), {"window": pooled}, add)
    assert cost_of(pool).flops == 15


def test_opcodes_of_hlo_have_names_of_stablehlo():
    names = ["dot", "conditional", "exponential-minus-one", "fusion", "opt-barrier"]
    assert [hlo_name(n) for n in names] == [
        "dot_general",
        "case",
        "exponential_minus_one",
        "fusion",
        "optimization_barrier",
    ]


@pytest.mark.parametrize(
    ("text", "dtype", "sizes", "size"),
    [
        ("tensor<i1>", "bool", (), 1),
        ("tensor<2x3xbf16>", "bfloat16", (2, 3), 12),
        ("tensor<4xui8>", "uint8", (4,), 4),
        ("tensor<4xi4>", "int4", (4,), 4),
        ("tensor<2xcomplex<f64>>", "complex128", (2,), 32),
        ("tensor<2xf8E4M3FN>", "float8_e4m3fn", (2,), 2),
        ("tensor<0x3xf32>", "float32", (0, 3), 0),
        ("!stablehlo.token", "!stablehlo.token", (0,), 0),
    ],
)
def test_types_are_read_as_tensors(text, dtype, sizes, size):
    with mlir.context():
        figures = tensor_of(ir.Type.parse(text))
    assert (figures, figures.bytes) == (Tensor(dtype, sizes), size)
