"""Estimates of time: kernels and their counts, what bounds them, and what is said of them."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as onp
import pytest

import olympus
import olympus.numpy as np
from olympus import analysis, lax
from olympus_core.analysis.cpu_peaks import GENERIC
from olympus_core.analysis.estimate import estimate
from olympus_core.analysis.kernels import Kernels
from olympus_core.analysis.machines import CpuMachine, GpuMachine
from olympus_core.errors import UsageError
from olympus_core.xla import Target, device_model, device_models, shipped_devices
from olympus_core.xla.hlo_module import Computation
from olympus_core.xla.hlo_reader import read_module
from tests.marks import needs_gpu_compiler

HERE = str(Path(__file__))
H200 = olympus.target("gpu", "h200")
MODEL = shipped_devices()["h200"]


def shape(*sizes, dtype="float32"):
    return olympus.ShapeDtypeStruct(sizes, dtype)


def compiled(function, *args, target=None, **options):
    return olympus.jit(function, **options).trace(*args).lower(target).compile()


def kernels(made):
    """The kernels of a program, without what a call takes besides."""
    return [k for k in made.estimate().kernels if not k.name.startswith("(")]


def total(made, what):
    return sum(getattr(kernel, what) * kernel.calls for kernel in kernels(made))


def test_a_large_product_is_bound_by_its_operations():
    n = 512
    made = compiled(lambda a, b: a @ b, shape(n, n), shape(n, n))
    (product,) = [k for k in kernels(made) if k.flops]
    assert product.flops == 2 * n**3
    assert product.bytes == 3 * 4 * n**2
    assert (product.dtype, product.bound, product.calls) == ("float32", "compute", 1)
    assert product.seconds == pytest.approx(2 * n**3 / GENERIC.product_float32)
    assert product.operation == "dot_general"
    assert product.line.startswith(f"{HERE}:")


def test_the_roofline_of_a_cpu_is_of_its_measured_peaks():
    n = 256
    lowered = olympus.jit(lambda a, b: a @ b + a).lower(shape(n, n), shape(n, n))
    found = analysis.roofline(lowered.cost(), GENERIC)
    flops, moved = 2 * n**3 + n**2, 3 * 4 * n**2
    assert (found.device, found.bound) == ("cpu", "compute")
    assert found.seconds == pytest.approx(flops / GENERIC.product_float32)
    slow = dataclasses.replace(GENERIC, read=1e6)
    assert analysis.roofline(lowered.cost(), slow)[1:] == (pytest.approx(moved / 1e6), "memory")


def test_a_large_sum_is_bound_by_its_bytes():
    n = 2**22
    made = compiled(lambda x: x + 1, shape(n), donate_argnums=0)
    (add,) = kernels(made)
    assert (add.bytes, add.flops, add.bound) == (8 * n, n, "memory")
    assert add.seconds == pytest.approx(4 * n / GENERIC.read + 4 * n / GENERIC.copy)
    assert {k.name for k in made.estimate().kernels} == {add.name, "(call)"}


def test_new_memory_takes_time_and_a_donated_argument_none():
    n = 2**22
    (new,) = [k for k in compiled(lambda x: x + 1, shape(n)).estimate().kernels if "new" in k.name]
    assert (new.name, new.seconds) == ("(new memory)", 4 * n / GENERIC.fresh)


def test_a_small_kernel_is_bound_by_its_start():
    made = compiled(lambda x: x + 1, shape(8))
    (add,) = kernels(made)
    assert (add.bound, add.seconds) == ("launch", GENERIC.launch)


def test_the_sums_agree():
    made = compiled(lambda x: (np.tanh(x @ x).sum(), np.sort(x)), shape(64, 64)).estimate()
    assert made.device == "cpu"
    assert made.seconds == pytest.approx(sum(k.seconds for k in made.kernels))
    assert sum(k.share for k in made.kernels) == pytest.approx(1)
    assert all(k.seconds > 0 for k in made.kernels)
    assert made.unknown == ()


def test_flops_are_those_that_xla_counts():
    def layer(x, w, b):
        return np.maximum(x @ w + b, 0) @ w.T

    made = compiled(layer, shape(64, 128), shape(128, 256), shape(256))
    assert total(made, "flops") == pytest.approx(made.cost_analysis()["flops"], rel=0.02)


def test_a_loop_counts_as_often_as_it_runs():
    def scanned(x, w):
        return lax.scan(lambda c, _: (np.tanh(c @ w), None), x, None, length=100)[0]

    made = compiled(scanned, shape(64, 64), shape(64, 64))
    (product,) = [k for k in kernels(made) if k.flops >= 2 * 64**3]
    assert product.calls == 100
    assert total(made, "flops") >= 52_428_800
    assert made.estimate().unknown == ()


def test_nested_loops_multiply():
    def outer(x):
        return lax.fori_loop(0, 5, lambda i, y: lax.fori_loop(0, 7, lambda j, z: z @ z, y), x)

    made = compiled(outer, shape(32, 32))
    assert sum(k.calls for k in kernels(made) if k.flops >= 2 * 32**3) == 35


def test_a_loop_that_depends_on_data_is_named():
    def halved(x):
        return lax.while_loop(lambda y: y.sum() > 1, lambda y: y / 2, x)

    made = compiled(halved, shape(1024)).estimate()
    (told,) = made.unknown
    assert "depends on data, or is not known: it is counted as run once" in told
    assert f"the loop at {HERE}:" in told


def calls_of_products(made, size):
    return sum(k.calls for k in made.kernels if k.flops >= 2 * size**3)


def test_a_loop_that_only_the_cost_knows_counts_as_often():
    def grown(x):
        first = np.float32(0), x
        return lax.while_loop(lambda c: c[0] < 300.5, lambda c: (c[0] + 1, c[1] @ c[1]), first)[1]

    made = compiled(grown, shape(32, 32))
    loops = [
        i
        for part in made.executable.hlo_module().computations.values()
        for i in part.instructions.values()
        if i.opcode == "while"
    ]
    assert [loop.trip_count for loop in loops] == [None]  # else this tests nothing
    found = made.estimate()
    assert calls_of_products(found, 32) == 301
    assert found.unknown == ()


def test_the_caller_says_how_often_a_loop_runs():
    def solved(x):
        return lax.while_loop(lambda y: y.sum() > 1, lambda y: y @ y, x)

    made = compiled(solved, shape(32, 32))
    (line,) = [line for line, count in made.cost().loops.items() if count is None]
    once, often = made.estimate(), made.estimate(trips={Path(line).name: 40})
    assert len(once.unknown) == 1
    assert (calls_of_products(once, 32), calls_of_products(often, 32)) == (1, 40)
    assert often.unknown == ()
    assert calls_of_products(made.estimate(trips={line: 0}), 32) == 0
    for trips in ({"nowhere.py:1": 3}, {line: -1}):
        with pytest.raises(UsageError):
            made.estimate(trips=trips)


def test_loops_of_one_line_with_several_counts_are_not_known():
    def halved(x, to):
        return lax.while_loop(lambda c: c[0] < to, lambda c: (c[0] + 1, c[1] @ c[1]), x)

    def both(x):
        first = np.float32(0), x
        return [halved(first, to)[1] for to in (200.5, 300.5)]

    made = compiled(both, shape(32, 32))
    assert list(made.cost().loops.values()) == [None]
    assert len(made.estimate().unknown) == 1
    assert made.cost().unknown == ()


def test_a_loop_that_never_runs_has_no_kernels():
    def never(x):
        return lax.fori_loop(0, 0, lambda i, y: y @ y, x)

    made = compiled(never, shape(256, 256))
    assert total(made, "flops") == 0
    assert all(k.calls > 0 for k in made.estimate().kernels)


def test_of_branches_the_dearest():
    def branch(i, x):
        return lax.switch(i, [lambda x: x + 1, lambda x: x @ x, lambda x: x * 2], x)

    made = compiled(branch, shape(dtype="int32"), shape(256, 256))
    assert total(made, "flops") == pytest.approx(2 * 256**3, rel=0.01)


def test_a_slice_reads_what_it_takes():
    def taken(x, i):
        return lax.dynamic_index_in_dim(x, i, keepdims=False) + 1

    made = compiled(taken, shape(1000, 256), shape(dtype="int32"))
    assert total(made, "bytes") < 8 * 4 * 256


ROWS, WIDTH = 100_000, 256


@pytest.mark.parametrize(
    "take",
    [
        lambda x: np.exp(x)[3] * 2,
        lambda x: (np.exp(x).T * np.arange(ROWS))[:, 7],
        lambda x: np.exp(x).reshape(ROWS * 16, 16)[5] * 2,
        lambda x: (np.exp(x) / (1 + np.exp(x)))[5] - 1,
    ],
)
def test_a_slice_of_what_is_computed_computes_and_reads_what_it_takes(take):
    made = compiled(take, shape(ROWS, WIDTH))
    assert 4 * 16 <= total(made, "bytes") < 10 * 4 * WIDTH
    assert 0 < total(made, "flops") < 10 * WIDTH
    assert 16 <= transcendentals(made) <= 2 * WIDTH
    assert made.estimate().seconds < 1e-4


def transcendentals(made):
    runs = Kernels(made.executable.hlo_module()).runs(lambda kernel: 0.0)
    return sum(run.kernel.transcendentals * run.calls for run in runs)


def module_of(text):
    """A program from HLO text, where XLA's passes would not leave what a test is about."""
    from jaxlib import _hlo  # the door of the product has no parser of HLO

    return read_module(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


def only_kernel(text):
    (run,) = Kernels(module_of(text)).runs(lambda kernel: 0.0)
    return run.kernel


@pytest.mark.parametrize(
    ("taken", "rows"),
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
def test_of_what_a_fusion_slices_the_part_counts(taken, rows):
    root = next(line for line in taken.splitlines() if "ROOT" in line)
    kind = root.split("=")[1].strip()
    kind = kind[: kind.index(")") + 1] if kind.startswith("(") else kind.split(" ")[0]
    kernel = only_kernel(f"""
HloModule m
body {{
  p = f32[1000,256] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  e = f32[1000,256] exponential(p)
  {taken}
}}
ENTRY main {{
  p = f32[1000,256] parameter(0)
  i = s32[] parameter(1)
  ROOT f = {kind} fusion(p, i), kind=kLoop, calls=body
}}""")
    assert kernel.transcendentals == 256 * rows
    assert 4 * 256 * rows <= kernel.read <= 4 * 256 * rows + 4


def test_a_reduction_of_a_slice_needs_the_slices_rows():
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


def test_a_fusion_in_a_fusion_computes_what_is_taken_of_it():
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


def test_an_update_of_what_is_computed_in_a_fusion_writes_all():
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


def test_integer_products_are_counted_besides_floating_point_work():
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
        ("float32", CpuMachine.COMPARISONS),
        ("int32", CpuMachine.PLAIN_COMPARISONS),
    ):
        (sort,) = kernels(compiled(np.sort, shape(n, dtype=dtype)))
        assert sort.seconds == pytest.approx(n * 14 / rate, rel=0.01)
        assert sort.bound == "compute"
    (rows,) = kernels(compiled(lambda x: np.sort(x, axis=0), shape(64, n)))
    assert rows.seconds == pytest.approx(64 * n * 6 / CpuMachine.COMPARISONS, rel=0.05)
    assert any("n log2 n" in told for told in compiled(np.sort, shape(8)).estimate().assumptions)


def test_a_sort_of_nothing_takes_nothing():
    for sizes in ((0,), (1,), (3, 0), (0, 3), (3, 1)):
        assert compiled(np.sort, shape(*sizes)).estimate().seconds < 1e-3


def test_the_largest_take_a_comparison_each():
    (top,) = kernels(compiled(lambda x: lax.top_k(x, 8)[0], shape(4, 2**16)))
    each = CpuMachine.PLAIN_COMPARISONS
    assert 4 * 2**16 / each <= top.seconds < 4 * 2**16 / each * 1.1


def test_a_sort_passes_over_the_memory_of_a_gpu_several_times():
    machine, n = GpuMachine(MODEL), 2**24
    (run,) = Kernels(compiled(np.sort, shape(n)).executable.hlo_module()).runs(lambda _: 0.0)
    bytes = 8 * n / (machine.BANDWIDTH * MODEL.bandwidth)
    kernel = run.kernel
    beyond = 24 - machine.SORT_TILE
    bitonic = 1 + sum(stage + 1 for stage in range(1, beyond + 1))
    assert machine.limits(kernel).memory == pytest.approx(bitonic * bytes)
    by_digits = kernel._replace(sort=kernel.sort._replace(radix=4))
    assert machine.limits(by_digits).memory == pytest.approx(4 * bytes)


def test_an_update_in_place_writes_what_it_changes():
    def written(x, i):
        return lax.dynamic_update_index_in_dim(x, np.ones(256), i, 0)

    made = compiled(written, shape(1000, 256), shape(dtype="int32"), donate_argnums=0)
    assert total(made, "bytes") < 8 * 4 * 256


def test_the_carry_of_a_scan_is_not_moved_in_each_step():
    def stacked(x):
        return lax.scan(lambda c, _: (c * 2, c), x, None, length=200)[1]

    made = compiled(stacked, shape(256))
    assert total(made, "bytes") < 200 * 20 * 4 * 256


def test_a_custom_call_that_is_not_known_is_named():
    made = compiled(lambda x: np.linalg.cholesky(x), shape(64, 64))
    module = made.executable.hlo_module()
    assert estimate(module, made.target).unknown == ()
    (id, call), = [
        (id, i) for id, i in module.entry.instructions.items() if i.opcode == "custom-call"
    ]  # fmt: skip
    instructions = {**module.entry.instructions, id: call._replace(custom_call_target="foo")}
    old = module.entry
    entry = Computation(
        old.id, old.name, lambda: instructions, old.root_id, old.is_fusion, old.form
    )
    changed = module._replace(computations={**module.computations, entry.id: entry})
    (told,) = estimate(changed, made.target).unknown
    assert told.startswith("the operations of foo at ") and told.endswith("are not counted")


def test_doubles_and_complex_numbers():
    with olympus.enable_x64(True):
        times = {
            dtype: total(compiled(lambda a: a @ a, shape(256, 256, dtype=dtype)), "seconds")
            for dtype in ("float32", "float64", "complex64", "complex128")
        }
    assert times["float64"] == pytest.approx(2 * times["float32"], rel=0.1)
    assert times["complex64"] == pytest.approx(4 * times["float32"], rel=0.1)
    assert times["complex128"] == pytest.approx(8 * times["float32"], rel=0.1)


def test_more_work_does_not_take_less_time():
    sizes = (1, 8, 64, 256)
    for function in (lambda x: x @ x, lambda x: np.tanh(x) * x, lambda x: np.sort(x).sum()):
        times = [compiled(function, shape(n, n)).estimate().seconds for n in sizes]
        assert times == sorted(times)


def test_kernels_of_few_elements_run_in_one_thread():
    (run,) = Kernels(
        compiled(lambda x: np.tanh(x), shape(64)).executable.hlo_module()
    ).runs(lambda kernel: 1.0)  # fmt: skip
    one, four = (CpuMachine(GENERIC, n, True).limits(run.kernel) for n in (1, 4))
    assert four.compute == pytest.approx(4 * one.compute)
    large = run.kernel._replace(read=2**20)
    one, four = (CpuMachine(GENERIC, n, True).limits(large) for n in (1, 4))
    assert four.compute == one.compute


def test_what_is_assumed_of_a_cpu():
    said = " ".join(compiled(lambda x: x + 1, shape(8)).estimate().assumptions)
    assert "were not measured, and usual ones are taken: olympus devices --calibrate" in said
    measured = CpuMachine(GENERIC, 1, True, "A note.").assumptions()
    assert "--calibrate measured" in measured[0] and measured[1] == "A note."


def test_devices_of_the_cpu_share_its_peaks():
    (run,) = Kernels(
        compiled(lambda x: np.tanh(x), shape(2**20)).executable.hlo_module()
    ).runs(lambda kernel: 1.0)  # fmt: skip

    def limits(count, kernel):
        return CpuMachine(GENERIC, 4, True, count=count).limits(kernel)

    one, two, eight = (limits(count, run.kernel) for count in (1, 2, 8))
    assert (two.compute, two.memory) == pytest.approx((2 * one.compute, 2 * one.memory))
    assert (eight.compute, eight.memory) == pytest.approx((8 * one.compute, 8 * one.memory))
    assert (two.launch, eight.launch) == (one.launch, 2 * one.launch)
    serial = run.kernel._replace(flops=0, transcendentals=1000, read=8, written=8)
    one, two, four, eight = (limits(count, serial) for count in (1, 2, 4, 8))
    assert one.compute == pytest.approx(two.compute) == pytest.approx(four.compute)
    assert eight.compute == pytest.approx(2 * one.compute)


def test_several_devices_of_the_cpu_take_no_less_than_the_roofline():
    mesh = olympus.sharding.AbstractMesh((8,), ("data",))
    rows = olympus.sharding.NamedSharding(mesh, olympus.P("data"))
    x = olympus.ShapeDtypeStruct((1024, 512), "float32", sharding=rows)
    lowered = olympus.jit(lambda x: np.tanh(x) + x.sum()).lower(x)
    made = lowered.compile().estimate()
    assert analysis.roofline(lowered.cost(), analysis.known_peaks()).seconds <= made.seconds
    (said,) = (each for each in made.assumptions if "devices" in each and "1/8" in each)
    assert "a collective is a copy in its memory" in said


def test_products_in_bfloat16_on_the_cpu_are_told():
    made = compiled(lambda x: x @ x, shape(128, 128, dtype="bfloat16")).estimate()
    is_taken = any("bfloat16 was not measured: float32's is taken" in s for s in made.assumptions)
    assert is_taken == any(k.dtype == "bfloat16" for k in made.kernels if k.flops >= 2 * 128**3)
    assert made.unknown == ()


# On a GPU that is not here


@needs_gpu_compiler
def test_a_product_uses_tensor_cores():
    n = 4096
    x = shape(n, n, dtype="bfloat16")
    made = compiled(lambda a, b: a @ b, x, x, target=H200).estimate()
    (product,) = made.kernels
    assert (made.device, product.flops, product.dtype) == ("h200", 2 * n**3, "bfloat16")
    assert product.bound == "compute"
    peak = MODEL.tensor_tflops.bfloat16 * 1e12
    assert made.seconds == pytest.approx(2 * n**3 / (GpuMachine.PRODUCTS * peak))


@needs_gpu_compiler
@pytest.mark.parametrize(
    ("dtype", "precision", "rate"),
    [
        ("float32", None, MODEL.tensor_tflops.tf32),
        ("float32", "highest", MODEL.tflops.float32),
        ("float16", None, MODEL.tensor_tflops.float16),
        ("float64", None, MODEL.tensor_tflops.float64),
    ],
)
def test_the_rate_is_that_of_the_dtype(dtype, precision, rate):
    n = 2048
    with olympus.enable_x64(True):
        x = shape(n, n, dtype=dtype)
        made = compiled(lambda a: lax.dot(a, a, precision=precision), x, target=H200).estimate()
    seconds = sum(k.seconds for k in made.kernels if k.flops == 2 * n**3)
    assert seconds == pytest.approx(2 * n**3 / (GpuMachine.PRODUCTS * rate * 1e12), rel=0.01)


@needs_gpu_compiler
@pytest.mark.parametrize("option", [True, False])
def test_a_library_call_counts_as_a_kernel_of_triton(option):
    x = shape(512, 512, dtype="bfloat16")
    lowered = olympus.jit(lambda a: a @ a).trace(x).lower(H200)
    made = lowered.compile({"xla_gpu_enable_triton_gemm": option})
    assert ("__cublas" in made.as_text()) != option
    # Triton sums in several parts, which a kernel of their own adds up
    product = max(made.estimate().kernels, key=lambda k: k.flops)
    assert (product.flops, product.dtype) == (2 * 512**3, "bfloat16")
    assert product.bytes >= 6 * 512**2 and (product.bytes == 6 * 512**2 or option)


@needs_gpu_compiler
def test_a_convolution_of_cudnn_is_counted():
    x, k = (shape(*s, dtype="bfloat16") for s in ((8, 64, 32, 32), (128, 64, 3, 3)))
    made = compiled(lambda x, k: lax.conv(x, k, (1, 1), "VALID"), x, k, target=H200)
    assert "__cudnn$conv" in made.as_text()
    (conv,) = [k for k in made.estimate().kernels if k.flops]
    assert conv.flops == 2 * 8 * 128 * 30 * 30 * 64 * 9
    assert made.estimate().unknown == ()


@needs_gpu_compiler
@pytest.mark.parametrize("stride", [1, 2])
def test_the_convolutions_of_derivatives_are_counted(stride):
    def loss(x, k):
        return lax.conv(x, k, (stride, stride), "SAME").sum()

    args = shape(4, 16, 16, 16), shape(32, 16, 3, 3)
    made = {
        target: compiled(olympus.grad(loss, argnums=(0, 1)), *args, target=target)
        for target in (None, H200)
    }
    assert made[H200].as_text().count('custom_call_target="__cudnn$convBackward') == 2
    flops = [sum(k.flops for k in kernels(m) if k.flops > 10**6) for m in made.values()]
    once = total(compiled(loss, *args), "flops")
    # where padding differs from side to side, XLA makes the array larger, and its zeros count
    assert flops == pytest.approx([2 * once] * 2, rel=0.02 if stride == 1 else 0.1)


@needs_gpu_compiler
def test_what_bounds_a_kernel_of_a_gpu():
    n = 2**26
    made = compiled(lambda x: np.tanh(x) + 1, shape(n), target=H200).estimate()
    (add,) = made.kernels
    assert (add.bound, add.bytes) == ("memory", 8 * n)
    assert add.seconds == pytest.approx(8 * n / (GpuMachine.BANDWIDTH * 4.8e12))
    (small,) = compiled(lambda x: x + 1, shape(8), target=H200).estimate().kernels
    assert (small.bound, small.seconds) == ("launch", GpuMachine.LAUNCH)


@needs_gpu_compiler
def test_on_another_device_and_on_ones_own():
    made = compiled(lambda x: x + 1, shape(2**26), target=H200)
    other = made.estimate("a100-80")
    assert other.device == "a100-80"
    assert other.seconds == pytest.approx(made.estimate().seconds * 4.8e12 / 2.03904e12)
    assert "as compiled for h200; for a100-80 it would be" in other.assumptions[-1]
    mine = device_models({"mine": {"like": "h200", "bandwidth": 2.4e12}})["mine"]
    assert made.estimate(mine).seconds == pytest.approx(2 * made.estimate().seconds)
    own = compiled(lambda x: x + 1, shape(2**26), target=Target("gpu", "mine", mine))
    assert own.estimate().seconds == made.estimate(mine).seconds
    assert own.estimate().device == own.estimate("mine").device == "mine"


def test_a_program_of_the_cpu_on_a_gpu():
    made = compiled(lambda x: x @ x, shape(512, 512))
    told = made.estimate("h100-sxm")
    assert "as compiled for cpu; for h100-sxm" in told.assumptions[-1]
    assert told.seconds < made.estimate().seconds
    assert made.estimate("cpu") == made.estimate()


def test_a_device_that_is_not_known():
    made = compiled(lambda x: x + 1, shape(8))
    with pytest.raises(UsageError, match="there is no device 'h2000'") as caught:
        made.estimate("h2000")
    assert "'h200'" in caught.value.hint
    with pytest.raises(UsageError, match="there is no device 'A100'") as caught:
        made.estimate("A100")
    assert "'a100-80'" in caught.value.hint
    with pytest.raises(UsageError, match="a device is a name or a DeviceModel, and got 3"):
        made.estimate(3)
    with pytest.raises(UsageError, match="for the backend 'tpu' without a device"):
        estimate(made.executable.hlo_module(), Target("tpu"))


def test_a_rate_that_is_not_known():
    bare = device_models(
        {
            "bare": {
                "capability": "7.5", "cores": 10, "clock_ghz": 1.0, "l2_cache": 2**20,
                "memory": 2**30, "bandwidth": 1e11,
            }
        }
    )["bare"]  # fmt: skip
    with olympus.enable_x64(True):
        made = compiled(lambda x: x @ x, shape(256, 256, dtype="float64"))
    said = " ".join(made.estimate(bare).assumptions)
    assert "the rate of products in float64 is not known of bare: that of float32" in said


def test_fits():
    a100 = device_model(Target("gpu", "a100-80"))
    no, yes = analysis.fits(298 * 2**30, a100), analysis.fits(2**30, a100)
    assert not no.is_enough and yes.is_enough
    assert str(no) == "a peak of 298.00 GiB does not fit the 79.26 GiB of a100-80"
    assert str(yes) == "a peak of 1.00 GiB fits the 79.26 GiB of a100-80"
    assert analysis.fits(a100.memory, a100).is_enough
    assert not analysis.fits(a100.memory + 1, a100).is_enough


def test_every_peak_matters(monkeypatch):
    def program(a, x, d):
        return a @ a, np.tanh(x) + x, d @ d

    with olympus.enable_x64(True):
        args = shape(256, 256), shape(2**18), shape(128, 128, dtype="float64")
        small = compiled(lambda x: x + 1, shape(4))
        made = [compiled(program, *args), small, compiled(lambda x: x + 1, shape(2**22))]

    def times(peaks):
        monkeypatch.setattr(
            "olympus_core.analysis.estimate.kept_peaks", lambda: analysis.Kept(peaks)
        )
        return [one.estimate().seconds for one in made]

    usual = times(GENERIC)
    for field in dataclasses.fields(GENERIC):
        factor = 100 if field.name in ("call", "launch") else 0.01
        value = factor * getattr(GENERIC, field.name)
        changed = times(dataclasses.replace(GENERIC, **{field.name: value}))
        assert all(a >= b for a, b in zip(changed, usual, strict=True)), field.name
        assert changed != usual, field.name


def test_a_program_without_work():
    made = compiled(lambda: np.zeros(()))
    assert made.estimate().seconds >= GENERIC.call
    empty = compiled(lambda x: x @ x.T, shape(0, 5)).estimate()
    assert math.isfinite(empty.seconds) and empty.seconds > 0


def test_it_runs_as_fast_after():
    made = compiled(lambda x: x + 1, shape(3))
    made.estimate()
    assert onp.asarray(made(onp.ones(3, "float32"))).tolist() == [2, 2, 2]
