"""Estimates of time on GPUs that are not attached."""

from __future__ import annotations

import dataclasses
import math

import numpy as onp
import pytest

import olympus
import olympus.numpy as np
from olympus import analysis, lax
from olympus_core.analysis.hlo.cpu_peaks import GENERIC
from olympus_core.analysis.hlo.estimate import estimate
from olympus_core.analysis.hlo.machines import GpuMachine
from olympus_core.base.errors import UsageError
from olympus_core.xla import Target, device_model, device_models
from tests.analysis.hlo.estimated import (
    H200,
    MODEL,
    compiled,
    kernels,
    shape,
    total,
    unchanged,
)
from tests.marks import needs_gpu_compiler


@needs_gpu_compiler
def test_a_product_uses_tensor_cores():
    n = 4096
    x = shape(n, n, dtype="bfloat16")
    times = compiled(lambda a, b: a @ b, x, x, target=H200).estimate()
    (product,) = times.kernels
    assert (times.device, product.flops, product.dtype) == ("h200", 2 * n**3, "bfloat16")
    assert product.bound == "compute"
    peak = MODEL.tensor_tflops.bfloat16 * 1e12
    assert times.seconds == pytest.approx(2 * n**3 / (GpuMachine.PRODUCTS * peak))


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
        times = compiled(lambda a: lax.dot(a, a, precision=precision), x, target=H200).estimate()
    seconds = sum(k.seconds for k in times.kernels if k.flops == 2 * n**3)
    assert seconds == pytest.approx(2 * n**3 / (GpuMachine.PRODUCTS * rate * 1e12), rel=0.01)


@needs_gpu_compiler
@pytest.mark.parametrize("option", [True, False])
def test_a_library_call_counts_as_a_kernel_of_triton(option):
    x = shape(512, 512, dtype="bfloat16")
    lowered = olympus.jit(lambda a: a @ a).trace(x).lower(H200)
    program = lowered.compile({"xla_gpu_enable_triton_gemm": option})
    assert ("__cublas" in program.as_text()) != option
    # Triton sums in several parts, and a separate kernel adds them up
    product = max(program.estimate().kernels, key=lambda k: k.flops)
    assert (product.flops, product.dtype) == (2 * 512**3, "bfloat16")
    assert product.bytes >= 6 * 512**2 and (product.bytes == 6 * 512**2 or option)


@needs_gpu_compiler
def test_a_convolution_of_cudnn_is_counted():
    x, k = (shape(*s, dtype="bfloat16") for s in ((8, 64, 32, 32), (128, 64, 3, 3)))
    program = unchanged(lambda x, k: lax.conv(x, k, (1, 1), "VALID"), x, k, target=H200)
    assert "__cudnn$conv" in program.as_text()
    (conv,) = [k for k in program.estimate().kernels if k.flops]
    assert conv.flops == 2 * 8 * 128 * 30 * 30 * 64 * 9
    assert program.estimate().unknown == ()


@needs_gpu_compiler
def test_a_convolution_as_a_product_is_counted():
    x, k = (shape(*s, dtype="bfloat16") for s in ((8, 64, 32, 32), (128, 64, 3, 3)))
    program = compiled(lambda x, k: lax.conv(x, k, (1, 1), "VALID"), x, k, target=H200)
    assert total(program, "flops") == pytest.approx(2 * 8 * 128 * 30 * 30 * 64 * 9, rel=0.01)


@needs_gpu_compiler
@pytest.mark.parametrize("stride", [1, 2])
def test_the_convolutions_of_derivatives_are_counted(stride):
    def loss(x, k):
        return lax.conv(x, k, (stride, stride), "SAME").sum()

    args = shape(4, 16, 16, 16), shape(32, 16, 3, 3)
    derivative = olympus.grad(loss, argnums=(0, 1))
    programs = {
        None: compiled(derivative, *args),
        H200: unchanged(derivative, *args, target=H200),
    }
    assert programs[H200].as_text().count('custom_call_target="__cudnn$convBackward') == 2
    flops = [sum(k.flops for k in kernels(m) if k.flops > 10**6) for m in programs.values()]
    once = total(compiled(loss, *args), "flops")
    # for asymmetric padding XLA enlarges the array, and its zeros count
    assert flops == pytest.approx([2 * once] * 2, rel=0.02 if stride == 1 else 0.1)


@needs_gpu_compiler
def test_a_sort_in_a_fusion_passes_over_its_memory_many_times():
    program = compiled(lambda x: np.sort(x), shape(2**20), target=H200)
    (sort,) = program.estimate().kernels
    assert "fusion" in sort.name
    beyond = 20 - GpuMachine.SORT_TILE
    once = sort.bytes / (GpuMachine.BANDWIDTH * 4.8e12)
    assert sort.seconds == pytest.approx((1 + beyond * (beyond + 3) // 2) * once)


@needs_gpu_compiler
def test_a_kernel_of_a_gpu_is_bound_by_memory_or_its_launch():
    n = 2**26
    times = compiled(lambda x: np.tanh(x) + 1, shape(n), target=H200).estimate()
    (add,) = times.kernels
    assert (add.bound, add.bytes) == ("memory", 8 * n)
    assert add.seconds == pytest.approx(8 * n / (GpuMachine.BANDWIDTH * 4.8e12))
    (small,) = compiled(lambda x: x + 1, shape(8), target=H200).estimate().kernels
    assert (small.bound, small.seconds) == ("launch", GpuMachine.LAUNCH)


@needs_gpu_compiler
def test_a_program_is_estimated_for_another_device_and_for_a_device_of_the_user():
    program = compiled(lambda x: x + 1, shape(2**26), target=H200)
    on_a100 = program.estimate("a100-80")
    assert on_a100.device == "a100-80"
    assert on_a100.seconds == pytest.approx(program.estimate().seconds * 4.8e12 / 2.03904e12)
    assert "as compiled for h200; for a100-80 it would be" in on_a100.assumptions[-1]
    mine = device_models({"mine": {"like": "h200", "bandwidth": 2.4e12}})["mine"]
    assert program.estimate(mine).seconds == pytest.approx(2 * program.estimate().seconds)
    own = compiled(lambda x: x + 1, shape(2**26), target=Target("gpu", "mine", mine))
    assert own.estimate().seconds == program.estimate(mine).seconds
    assert own.estimate().device == own.estimate("mine").device == "mine"


def test_a_program_for_the_cpu_is_estimated_for_a_gpu():
    program = compiled(lambda x: x @ x, shape(512, 512))
    times = program.estimate("h100-sxm")
    assert "as compiled for cpu; for h100-sxm" in times.assumptions[-1]
    assert times.seconds < program.estimate().seconds
    assert program.estimate("cpu") == program.estimate()


def test_an_unknown_device_is_refused():
    program = compiled(lambda x: x + 1, shape(8))
    with pytest.raises(
        UsageError, match="no device of the backend 'gpu' is named 'h2000'"
    ) as caught:
        program.estimate("h2000")
    assert "'h200'" in caught.value.hint
    with pytest.raises(
        UsageError, match="no device of the backend 'gpu' is named 'A100'"
    ) as caught:
        program.estimate("A100")
    assert "'a100-80'" in caught.value.hint
    with pytest.raises(UsageError, match="a device is a name or a DeviceModel, and got 3"):
        program.estimate(3)
    with pytest.raises(UsageError, match="for the backend 'tpu' without a device"):
        estimate(program.executable.hlo_module(), Target("tpu"))


def test_an_unknown_rate_is_an_assumption():
    bare = device_models(
        {
            "bare": {
                "capability": "7.5", "cores": 10, "clock_ghz": 1.0, "l2_cache": 2**20,
                "memory": 2**30, "bandwidth": 1e11,
            }
        }
    )["bare"]  # fmt: skip
    with olympus.enable_x64(True):
        program = compiled(lambda x: x @ x, shape(256, 256, dtype="float64"))
    assumptions = " ".join(program.estimate(bare).assumptions)
    assert "the rate of products in float64 is not known of bare: that of float32" in assumptions


def test_a_peak_is_compared_with_the_memory_of_a_device():
    a100 = device_model(Target("gpu", "a100-80"))
    too_large, small_enough = analysis.fits(298 * 2**30, a100), analysis.fits(2**30, a100)
    assert not too_large.is_enough and small_enough.is_enough
    assert str(too_large) == "a peak of 298.00 GiB does not fit the 79.26 GiB of a100-80"
    assert str(small_enough) == "a peak of 1.00 GiB fits the 79.26 GiB of a100-80"
    assert analysis.fits(a100.memory, a100).is_enough
    assert not analysis.fits(a100.memory + 1, a100).is_enough


def test_every_peak_changes_an_estimate(monkeypatch):
    def three_products(a, x, d):
        return a @ a, np.tanh(x) + x, d @ d

    with olympus.enable_x64(True):
        args = shape(256, 256), shape(2**18), shape(128, 128, dtype="float64")
        small = compiled(lambda x: x + 1, shape(4))
        programs = [compiled(three_products, *args), small, compiled(lambda x: x + 1, shape(2**22))]

    def times(peaks):
        monkeypatch.setattr(
            "olympus_core.analysis.hlo.estimate.kept_peaks", lambda: analysis.Kept(peaks)
        )
        return [program.estimate().seconds for program in programs]

    usual = times(GENERIC)
    for field in dataclasses.fields(GENERIC):
        factor = 100 if field.name in ("call", "launch") else 0.01
        value = factor * getattr(GENERIC, field.name)
        changed = times(dataclasses.replace(GENERIC, **{field.name: value}))
        assert all(a >= b for a, b in zip(changed, usual, strict=True)), field.name
        assert changed != usual, field.name


def test_a_program_without_work_takes_a_call():
    program = compiled(lambda: np.zeros(()))
    assert program.estimate().seconds >= GENERIC.call
    empty = compiled(lambda x: x @ x.T, shape(0, 5)).estimate()
    assert math.isfinite(empty.seconds) and empty.seconds > 0


def test_a_program_runs_after_its_estimate():
    program = compiled(lambda x: x + 1, shape(3))
    program.estimate()
    assert onp.asarray(program(onp.ones(3, "float32"))).tolist() == [2, 2, 2]
