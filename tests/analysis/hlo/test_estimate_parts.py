"""The figures of kernels that use part of an array: slices, updates, reductions and sorts."""

from __future__ import annotations

import pytest

import olympus.numpy as np
from olympus import lax
from olympus_core.analysis.hlo.kernels import Kernels
from olympus_core.analysis.hlo.machines import CpuMachine, GpuMachine
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from tests.analysis.hlo.estimated import MODEL, compiled, kernels, shape, total

ROWS, WIDTH = 100_000, 256


def test_a_slice_reads_only_its_elements():
    def one_row(x, i):
        return lax.dynamic_index_in_dim(x, i, keepdims=False) + 1

    program = compiled(one_row, shape(1000, 256), shape(dtype="int32"))
    assert total(program, "bytes") < 8 * 4 * 256


@pytest.mark.parametrize(
    "take",
    [
        lambda x: np.exp(x)[3] * 2,
        lambda x: (np.exp(x).T * np.arange(ROWS))[:, 7],
        lambda x: np.exp(x).reshape(ROWS * 16, 16)[5] * 2,
        lambda x: (np.exp(x) / (1 + np.exp(x)))[5] - 1,
    ],
)
def test_a_slice_of_a_computed_value_computes_only_its_elements(take):
    program = compiled(take, shape(ROWS, WIDTH))
    assert 4 * 16 <= total(program, "bytes") < 10 * 4 * WIDTH
    assert 0 < total(program, "flops") < 10 * WIDTH
    assert 16 <= transcendentals(program) <= 2 * WIDTH
    assert program.estimate().seconds < 1e-4


def transcendentals(program):
    runs = Kernels(program.executable.hlo_module()).runs(lambda kernel: 0.0)
    return sum(run.kernel.transcendentals * run.calls for run in runs)


def module_of(text):
    """Return a program from HLO text, for forms that XLA's passes would change."""
    from jaxlib import _hlo  # OLYMPUS itself has no parser of HLO

    return read_hlo_module(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


def only_kernel(text):
    (run,) = Kernels(module_of(text)).runs(lambda kernel: 0.0)
    return run.kernel


@pytest.mark.parametrize(
    ("slices", "rows"),
    [
        ("ROOT s = f32[1,256] dynamic-slice(e, i, z), dynamic_slice_sizes={1,256}", 1),
        ("ROOT s = f32[2,256] slice(e), slice={[3:5], [0:256]}", 2),
        (
            """k = s32[3] broadcast(i), dimensions={}
            ROOT s = f32[3,256] gather(e, k), offset_dims={1}, collapsed_slice_dims={0},
            start_index_map={0}, index_vector_dim=1, slice_sizes={1,256}""",
            3,
        ),
        (
            """b = f32[7,1000,256] broadcast(e), dimensions={1,2}
            ROOT s = f32[1,1,256] dynamic-slice(b, z, i, z), dynamic_slice_sizes={1,1,256}""",
            1,
        ),
        (
            """r = f32[256000] reshape(e)
            ROOT s = f32[512] slice(r), slice={[512:1024]}""",
            2,
        ),
        (  # different rows add up, the same row counts once
            """s = f32[1,256] dynamic-slice(e, i, z), dynamic_slice_sizes={1,256}
            t = f32[1,256] slice(e), slice={[0:1], [0:256]}
            m = f32[1,256] multiply(s, s)
            ROOT a = f32[1,256] add(m, t)""",
            2,
        ),
        (
            """s = f32[1,256] dynamic-slice(e, i, z), dynamic_slice_sizes={1,256}
            ROOT a = (f32[1,256], f32[1000,256]) tuple(s, e)""",
            1000,
        ),
    ],
)
def test_a_fusion_computes_only_the_sliced_part(slices, rows):
    root = next(line for line in slices.splitlines() if "ROOT" in line)
    kind = root.split("=")[1].strip()
    kind = kind[: kind.index(")") + 1] if kind.startswith("(") else kind.split(" ")[0]
    kernel = only_kernel(f"""
HloModule m
body {{
  p = f32[1000,256] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  e = f32[1000,256] exponential(p)
  {slices}
}}
ENTRY main {{
  p = f32[1000,256] parameter(0)
  i = s32[] parameter(1)
  ROOT f = {kind} fusion(p, i), kind=kLoop, calls=body
}}""")
    assert kernel.transcendentals == 256 * rows
    assert 4 * 256 * rows <= kernel.read <= 4 * 256 * rows + 4


def test_a_slice_of_a_reduction_reads_only_its_rows():
    kernel = only_kernel("""
HloModule m
plus { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
body {
  p = f32[1000,256] parameter(0)
  z = f32[] constant(0)
  e = f32[1000,256] exponential(p)
  r = f32[1000] reduce(e, z), dimensions={1}, to_apply=plus
  ROOT s = f32[2] slice(r), slice={[3:5]}
}
ENTRY main {
  p = f32[1000,256] parameter(0)
  ROOT f = f32[2] fusion(p), kind=kLoop, calls=body
}""")
    assert (kernel.transcendentals, kernel.flops) == (2 * 256, 2 * 255)
    assert kernel.read == 4 * 2 * 256


def test_a_nested_fusion_computes_only_the_sliced_part():
    kernel = only_kernel("""
HloModule m
inner { p = f32[1000,256] parameter(0)  ROOT e = f32[1000,256] exponential(p) }
outer {
  p = f32[1000,256] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  f = f32[1000,256] fusion(p), kind=kLoop, calls=inner
  n = f32[1000,256] negate(f)
  ROOT s = f32[1,256] dynamic-slice(n, i, z), dynamic_slice_sizes={1,256}
}
ENTRY main {
  p = f32[1000,256] parameter(0)
  i = s32[] parameter(1)
  ROOT f = f32[1,256] fusion(p, i), kind=kLoop, calls=outer
}""")
    assert (kernel.transcendentals, kernel.flops) == (256, 256)
    assert (kernel.read, kernel.written) == (4 * 256 + 4, 4 * 256)


def test_an_update_of_a_computed_value_writes_the_whole_array():
    kernel = only_kernel("""
HloModule m
body {
  p = f32[1000,256] parameter(0)
  u = f32[1,256] parameter(1)
  z = s32[] constant(0)
  n = f32[1000,256] negate(p)
  ROOT s = f32[1000,256] dynamic-update-slice(n, u, z, z)
}
ENTRY main {
  p = f32[1000,256] parameter(0)
  u = f32[1,256] parameter(1)
  ROOT f = f32[1000,256] fusion(p, u), kind=kLoop, calls=body
}""")
    assert (kernel.flops, kernel.read) == (256_000, 4 * 256_000 + 4 * 256)
    assert kernel.written == 4 * 256_000


def test_a_fusion_counts_integer_products_and_floating_point_work():
    kernel = only_kernel("""
HloModule m
body {
  a = s8[16,32] parameter(0)
  b = s8[32,16] parameter(1)
  d = s32[16,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[16,16] convert(d)
  ROOT n = f32[16,16] negate(c)
}
ENTRY main {
  a = s8[16,32] parameter(0)
  b = s8[32,16] parameter(1)
  ROOT f = f32[16,16] fusion(a, b), kind=kLoop, calls=body
}""")
    assert kernel.matmul == {"int8": 2 * 16 * 16 * 32}
    assert kernel.flops == 2 * 16 * 16 * 32 + 2 * 16 * 16


def test_a_sort_counts_its_comparisons():
    n = 2**14
    for dtype, rate in (
        ("complex64", CpuMachine.COMPARISONS),
        ("int32", CpuMachine.PLAIN_COMPARISONS),
        ("float32", CpuMachine.PLAIN_COMPARISONS),
    ):
        sort = max(kernels(compiled(np.sort, shape(n, dtype=dtype))), key=lambda k: k.seconds)
        assert sort.seconds == pytest.approx(n * 14 / rate, rel=0.01)
        assert sort.bound == "compute"
    (rows,) = kernels(compiled(lambda x: np.sort(x, axis=0), shape(64, n, dtype="complex64")))
    assert rows.seconds == pytest.approx(64 * n * 6 / CpuMachine.COMPARISONS, rel=0.05)
    assert any("n log2 n" in note for note in compiled(np.sort, shape(8)).estimate().assumptions)


def test_a_sort_of_at_most_one_element_is_fast():
    for sizes in ((0,), (1,), (3, 0), (0, 3), (3, 1)):
        assert compiled(np.sort, shape(*sizes)).estimate().seconds < 1e-3


def test_top_k_takes_one_comparison_per_element():
    (top,) = kernels(compiled(lambda x: lax.top_k(x, 8)[0], shape(4, 2**16)))
    rate = CpuMachine.PLAIN_COMPARISONS
    assert 4 * 2**16 / rate <= top.seconds < 4 * 2**16 / rate * 1.1


def test_a_sort_passes_over_the_memory_of_a_gpu_several_times():
    machine, n = GpuMachine(MODEL), 2**24
    module = compiled(np.sort, shape(n, dtype="int32")).executable.hlo_module()
    (run,) = Kernels(module).runs(lambda _: 0.0)
    bytes = 8 * n / (machine.BANDWIDTH * MODEL.bandwidth)
    kernel = run.kernel
    beyond = 24 - machine.SORT_TILE
    bitonic = 1 + sum(stage + 1 for stage in range(1, beyond + 1))
    assert machine.limits(kernel).memory == pytest.approx(bitonic * bytes)
    by_digits = kernel._replace(sort=kernel.sort._replace(radix=4))
    assert machine.limits(by_digits).memory == pytest.approx(4 * bytes)


def test_an_update_in_place_writes_only_the_changed_elements():
    def written(x, i):
        return lax.dynamic_update_index_in_dim(x, np.ones(256), i, 0)

    program = compiled(written, shape(1000, 256), shape(dtype="int32"), donate_argnums=0)
    assert total(program, "bytes") < 8 * 4 * 256


def test_the_carry_of_a_scan_is_not_moved_in_each_step():
    def stacked(x):
        return lax.scan(lambda c, _: (c * 2, c), x, None, length=200)[1]

    program = compiled(stacked, shape(256))
    assert total(program, "bytes") < 200 * 20 * 4 * 256
