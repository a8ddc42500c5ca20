"""Estimates of time: kernels, their counts, their bounds and their assumptions."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import olympus
import olympus.numpy as np
from olympus import analysis
from olympus_core.analysis.hlo.cpu_peaks import GENERIC
from olympus_core.analysis.hlo.estimate import estimate
from olympus_core.analysis.hlo.kernels import Kernels
from olympus_core.analysis.hlo.machines import CpuMachine
from olympus_core.xla.hlo.hlo_module import Computation
from tests.analysis.hlo.estimated import compiled, kernels, shape, total

HERE = str(Path(__file__))


def test_a_large_product_is_bound_by_its_operations():
    n = 512
    program = compiled(lambda a, b: a @ b, shape(n, n), shape(n, n))
    (product,) = [k for k in kernels(program) if k.flops]
    assert product.flops == 2 * n**3
    assert product.bytes == 3 * 4 * n**2
    assert (product.dtype, product.bound, product.calls) == ("float32", "compute", 1)
    assert product.seconds == pytest.approx(2 * n**3 / GENERIC.product_float32)
    assert product.operation == "dot_general"
    assert product.line.startswith(f"{HERE}:")


def test_the_roofline_of_a_cpu_uses_its_measured_peaks():
    n = 256
    lowered = olympus.jit(lambda a, b: a @ b + a).lower(shape(n, n), shape(n, n))
    bound = analysis.roofline(lowered.cost(), GENERIC)
    flops, moved = 2 * n**3 + n**2, 3 * 4 * n**2
    assert (bound.device, bound.bound) == ("cpu", "compute")
    assert bound.seconds == pytest.approx(flops / GENERIC.product_float32)
    slow = dataclasses.replace(GENERIC, read=1e6)
    assert analysis.roofline(lowered.cost(), slow)[1:] == (pytest.approx(moved / 1e6), "memory")


def test_a_large_sum_is_bound_by_its_bytes():
    n = 2**22
    program = compiled(lambda x: x + 1, shape(n), donate_argnums=0)
    (add,) = kernels(program)
    assert (add.bytes, add.flops, add.bound) == (8 * n, n, "memory")
    assert add.seconds == pytest.approx(4 * n / GENERIC.read + 4 * n / GENERIC.copy)
    assert {k.name for k in program.estimate().kernels} == {add.name, "(call)"}


def test_new_memory_takes_time_but_a_donated_argument_does_not():
    n = 2**22
    (new,) = [k for k in compiled(lambda x: x + 1, shape(n)).estimate().kernels if "new" in k.name]
    assert (new.name, new.seconds) == ("(new memory)", 4 * n / GENERIC.fresh)


def test_a_small_kernel_is_bound_by_its_launch():
    program = compiled(lambda x: x + 1, shape(8))
    (add,) = kernels(program)
    assert (add.bound, add.seconds) == ("launch", GENERIC.launch)


def test_the_times_and_shares_of_kernels_add_up():
    times = compiled(lambda x: (np.tanh(x @ x).sum(), np.sort(x)), shape(64, 64)).estimate()
    assert times.device == "cpu"
    assert times.seconds == pytest.approx(sum(k.seconds for k in times.kernels))
    assert sum(k.share for k in times.kernels) == pytest.approx(1)
    assert all(k.seconds > 0 for k in times.kernels)
    assert times.unknown == ()


def test_the_flops_of_kernels_are_the_count_of_xla():
    def layer(x, w, b):
        return np.maximum(x @ w + b, 0) @ w.T

    program = compiled(layer, shape(64, 128), shape(128, 256), shape(256))
    assert total(program, "flops") == pytest.approx(program.cost_analysis()["flops"], rel=0.02)


def test_an_unknown_custom_call_is_named():
    program = compiled(lambda x: np.linalg.cholesky(x), shape(64, 64))
    module = program.executable.hlo_module()
    assert estimate(module, program.target).unknown == ()
    (id, call), = [
        (id, i) for id, i in module.entry.instructions.items() if i.opcode == "custom-call"
    ]  # fmt: skip
    instructions = {**module.entry.instructions, id: call._replace(custom_call_target="foo")}
    old = module.entry
    entry = Computation(
        old.id, old.name, lambda: instructions, old.root_id, old.is_fusion, old.form
    )
    changed = module._replace(computations={**module.computations, entry.id: entry})
    (unknown,) = estimate(changed, program.target).unknown
    assert unknown.startswith("the operations of foo at ") and unknown.endswith("are not counted")


def test_products_of_doubles_and_complex_numbers_take_longer():
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
        seconds = [compiled(function, shape(n, n)).estimate().seconds for n in sizes]
        assert seconds == sorted(seconds)


def test_kernels_of_few_elements_run_in_one_thread():
    (run,) = Kernels(
        compiled(lambda x: np.tanh(x), shape(64)).executable.hlo_module()
    ).runs(lambda kernel: 1.0)  # fmt: skip
    one_thread, four_threads = (CpuMachine(GENERIC, n, None).limits(run.kernel) for n in (1, 4))
    assert four_threads.compute == pytest.approx(4 * one_thread.compute)
    large = run.kernel._replace(read=2**20)
    one_thread, four_threads = (CpuMachine(GENERIC, n, None).limits(large) for n in (1, 4))
    assert four_threads.compute == one_thread.compute


def test_an_estimate_lists_its_assumptions_about_the_cpu():
    assumptions = " ".join(compiled(lambda x: x + 1, shape(8)).estimate().assumptions)
    assert "were not measured, and usual ones are taken: olympus devices --calibrate" in assumptions
    measured = CpuMachine(GENERIC, 1, "a day at a load of 9", "A note.").assumptions()
    assert measured[0].endswith("measured by olympus devices --calibrate: a day at a load of 9.")
    assert measured[1] == "A note."


def test_devices_of_the_cpu_share_its_peaks():
    (run,) = Kernels(
        compiled(lambda x: np.tanh(x), shape(2**20)).executable.hlo_module()
    ).runs(lambda kernel: 1.0)  # fmt: skip

    def limits(count, kernel):
        return CpuMachine(GENERIC, 4, None, count=count).limits(kernel)

    one_device, two_devices, eight_devices = (limits(count, run.kernel) for count in (1, 2, 8))
    assert (two_devices.compute, two_devices.memory) == pytest.approx(
        (2 * one_device.compute, 2 * one_device.memory)
    )
    assert (eight_devices.compute, eight_devices.memory) == pytest.approx(
        (8 * one_device.compute, 8 * one_device.memory)
    )
    assert (two_devices.launch, eight_devices.launch) == (one_device.launch, 2 * one_device.launch)
    serial = run.kernel._replace(flops=0, transcendentals=1000, read=8, written=8)
    one_device, two_devices, four_devices, eight_devices = (
        limits(count, serial) for count in (1, 2, 4, 8)
    )
    assert (
        one_device.compute
        == pytest.approx(two_devices.compute)
        == pytest.approx(four_devices.compute)
    )
    assert eight_devices.compute == pytest.approx(2 * one_device.compute)


def test_several_devices_of_the_cpu_take_no_less_than_the_roofline():
    mesh = olympus.sharding.AbstractMesh((8,), ("data",))
    rows = olympus.sharding.NamedSharding(mesh, olympus.P("data"))
    x = olympus.ShapeDtypeStruct((1024, 512), "float32", sharding=rows)
    lowered = olympus.jit(lambda x: np.tanh(x) + x.sum()).lower(x)
    times = lowered.compile().estimate()
    assert analysis.roofline(lowered.cost(), analysis.known_peaks()).seconds <= times.seconds
    (note,) = (note for note in times.assumptions if "devices" in note and "1/8" in note)
    assert "a collective is a copy in its memory" in note


def test_the_assumed_rate_of_bfloat16_on_the_cpu_is_reported():
    times = compiled(lambda x: x @ x, shape(128, 128, dtype="bfloat16")).estimate()
    is_assumed = any(
        "bfloat16 was not measured: float32's is taken" in s for s in times.assumptions
    )
    assert is_assumed == any(k.dtype == "bfloat16" for k in times.kernels if k.flops >= 2 * 128**3)
    assert times.unknown == ()
