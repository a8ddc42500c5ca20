"""The table of operations: it has all of them, and what it does not have is unknown by name."""

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

#: how often these loop depends on data, on platforms without LAPACK
ITERATIVE = ("eig", "svd")
LOOPS = "while-as_long_as_values_say"

#: operations whose cost is not known, and why
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
        args = case.arrays(case.dtypes[0])
        traced = ox.jit(lambda *xs, case=case: case.call(ox.lax, *xs)).trace(*args)
        found = traced.lower(place).cost()
        loops = case.id == LOOPS or (target != "cpu" and case.id.startswith(ITERATIVE))
        assert {u.what for u in found.unknown} == ({"while loop"} if loops else set()), case.id
        for kind in ("line", "scope", "operation", "dtype"):
            rows = found.by(kind)
            for figure in ("flops", "transcendentals", "bytes", "operations"):
                total = getattr(found.at_least, figure)
                assert sum(getattr(r, figure) for r in rows) == total, (case.id, kind, figure)


@pytest.mark.parametrize("module", [formulas, table, view, cost], ids=lambda m: m.__name__)
def test_docstring_examples(module):
    names = {"jit": ox.jit, "ShapeDtypeStruct": ox.ShapeDtypeStruct, "Tensor": Tensor}
    found = cost_of_module(module_of("func.func @main() { return }"))
    outcome = doctest.testmod(
        module, optionflags=doctest.ELLIPSIS, extraglobs=names | {"cost": found}
    )
    assert outcome.attempted > 0 and outcome.failed == 0


def test_constants_that_are_not_in_the_text():
    found = cost_of_module(
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
    assert (found.io_bytes, found.bytes) == (16 + 16, 48)


def module_of(text: str) -> ir.Module:
    with mlir.context():
        return ir.Module.parse(text)


def test_an_unknown_call_is_named_and_never_free():
    found = cost_of_module(
        module_of("""
        func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = stablehlo.add %x, %x : tensor<8xf32>
          %1 = stablehlo.custom_call @foo(%0) : (tensor<8xf32>) -> tensor<8xf32> loc(#line)
          return %1 : tensor<8xf32>
        }
        #line = loc("jit_f/foo"("m.py":7:1))""")
    )
    assert (found.flops, found.transcendentals, found.matmul_flops) == (None, None, None)
    assert (found.bytes, found.operations) == (3 * 32 + 2 * 32, 2)
    assert (found.at_least.flops, found.at_least.unknown) == (8, ())
    assert [str(u) for u in found.unknown] == [
        "the cost of the custom call foo at m.py:7 is not known: no rule gives its cost"
    ]
    assert found.intensity is None


def test_a_shape_that_is_not_known_hides_bytes_too():
    found = cost_of_module(
        module_of("""
        func.func @main(%x: tensor<?xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.add %x, %x : tensor<?xf32>
          %1 = stablehlo.add %y, %y : tensor<4xf32>
          return %1 : tensor<4xf32>
        }""")
    )
    assert (found.flops, found.bytes) == (None, None)
    assert (found.at_least.flops, found.at_least.bytes) == (4, 48)
    assert found.unknown[0].why == "it has a shape that is not known"


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
def test_custom_calls_of_libraries(target, flops):
    m = row("float32", 4, 4)
    op = OperationView("custom_call", (m,), (m,), {"target": target})
    assert cost_of(op).flops == flops
    assert name_of(op) == f"custom call {target}"


@pytest.mark.parametrize("target", ["lapack_sfoo_ffi", "cusolver_foo", "__cublas$gemm", "x"])
def test_custom_calls_that_are_not_known(target):
    m = row("float32", 4, 4)
    assert cost_of(OperationView("custom_call", (m,), (m,), {"target": target})) is None


def test_a_product_of_a_library_counts_as_one_where_the_view_says_its_axes():
    m = row("float16", 4, 4)
    view = {"target": "__cublas$lt$matmul", "lhs_contracting": (1,)}
    found = cost_of(OperationView("custom_call", (m, m), (m,), view))
    assert found.matmul == {"float16": 2 * 4**3}


def test_bytes_of_operations_that_touch_a_part():
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


def test_collectives_say_what_they_move():
    part, whole = row("float32", 4), row("float32", 16)
    one = Counts(flops=1)
    reduced = cost_of(OperationView("all_reduce", (whole,), (whole,), bodies=(one,)))
    assert (reduced.collective_bytes, reduced.flops) == (64, 16)
    assert cost_of(OperationView("all_gather", (part,), (whole,))).collective_bytes == 64
    scattered = cost_of(OperationView("reduce_scatter", (whole,), (part,), bodies=(one,)))
    assert (scattered.collective_bytes, scattered.flops) == (64, 4)
    assert cost_of(OperationView("collective_permute", (part,), (part,))).collective_bytes == 16


def test_windows_and_what_is_accumulated():
    x = row("float32", 3, 10)
    add = (Counts(flops=1),)
    window = (WindowAxis(1), WindowAxis(10, padding=(9, 0)))
    running = OperationView("reduce_window", (x, row("float32")), (x,), {"window": window}, add)
    assert cost_of(running).flops == 3 * 9
    pooled = (WindowAxis(1), WindowAxis(2, stride=2))
    out = row("float32", 3, 5)
    pool = OperationView("reduce_window", (x, row("float32")), (out,), {"window": pooled}, add)
    assert cost_of(pool).flops == 15


def test_names_of_hlo():
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
def test_types(text, dtype, sizes, size):
    with mlir.context():
        found = tensor_of(ir.Type.parse(text))
    assert (found, found.bytes) == (Tensor(dtype, sizes), size)
