"""The time of kernels in loops on the CPU: their start, their threads and their memory."""

from __future__ import annotations

import itertools

import pytest

import olympus.numpy as np
from olympus import lax
from olympus_core.analysis.hlo.cpu_peaks import GENERIC
from olympus_core.analysis.hlo.estimate import timed
from olympus_core.analysis.hlo.kernels import Kernel, Kernels
from olympus_core.analysis.hlo.machines import CpuMachine, GpuMachine
from tests.analysis.hlo.estimated import MODEL, compiled, shape
from tests.analysis.hlo.test_estimate_parts import module_of

CPU = CpuMachine(GENERIC, 2, None)
NOTHING = Kernel("k", "add", "", None, 0, {}, 0, 0, 0, None, 0, False, False, None)


def scanned(step, steps):
    return lambda x: lax.scan(lambda c, _: (step(c), None), x, None, length=steps)[0]


def seconds(module):
    return sum(timed(module, CPU, dict)[2])


def time_of(function, *args):
    return seconds(compiled(function, *args).executable.hlo_module())


@pytest.mark.parametrize(
    ("step", "sizes", "bound"),
    [
        (lambda x: x + 1, (), 10e-9),
        (lambda x: np.tanh(x) + 1, (4,), 50e-9),
        (lambda x: x + 1, (64,), 50e-9),
        (lambda x: x + 1, (1024,), 300e-9),
        (lambda x: x + 1, (4096,), 1e-6),
    ],
)
def test_a_step_of_a_scan_over_a_small_array_takes_less_than_a_launch(step, sizes, bound):
    short, middle, long = (time_of(scanned(step, n), shape(*sizes)) for n in (1000, 2000, 11_000))
    assert 0 < (long - short) / 10_000 < bound <= GENERIC.launch
    assert long - middle == pytest.approx(9 * (middle - short))


def test_a_scan_in_a_scan_takes_as_long_as_one_scan():
    inner = scanned(lambda x: x + 1, 100)
    flat = time_of(scanned(lambda x: x + 1, 10_000), shape(4))
    nested = time_of(scanned(inner, 100), shape(4))
    assert flat < nested < 1.5 * flat


def test_every_kind_of_loop_over_a_small_array_is_fast():
    def fori(x):
        return lax.fori_loop(0, 1000, lambda i, y: y * 0.5 + i, x)

    def counted(x):
        return lax.while_loop(lambda c: c[0] < 1000, lambda c: (c[0] + 1, c[1] * 0.5), (0, x))

    for loop in (fori, counted):
        assert time_of(loop, shape(64)) < 1000 * 100e-9


def loop_of(body, calls=1000):
    """Return a loop over a float array of 1,024 elements; its kernels are the lines of `body`."""
    return module_of(f"""HloModule m, is_scheduled=true
      body {{
        t = (s32[], f32[1024]) parameter(0)
        i = s32[] get-tuple-element(t), index=0
        x = f32[1024] get-tuple-element(t), index=1
        {body}
        ROOT r = (s32[], f32[1024]) tuple(i, y)
      }}
      condition {{
        t = (s32[], f32[1024]) parameter(0)
        i = s32[] get-tuple-element(t), index=0
        n = s32[] constant({calls})
        ROOT c = pred[] compare(i, n), direction=LT
      }}
      ENTRY main {{
        t = (s32[], f32[1024]) parameter(0)
        ROOT w = (s32[], f32[1024]) while(t), condition=condition, body=body,
          backend_config={{"known_trip_count":{{"n":"{calls}"}}}}
      }}""")


def chain(count):
    names = ["x", *(f"y{n}" for n in range(1, count)), "y"]
    pairs = itertools.pairwise(names)
    return "\n".join(f"{after} = f32[1024] negate({before})" for before, after in pairs)


def independent(count):
    lines = [f"z{n} = f32[1024] negate(x)" for n in range(count - 1)]
    return "\n".join([*lines, "y = f32[1024] add(z0, z1)"])


@pytest.mark.parametrize(
    ("body", "queued"),
    [(chain(20), 0), (independent(8), 0), (independent(9), 8), (independent(20), 19)],
)
def test_independent_kernels_are_queued(body, queued):
    kernels, runs, times = timed(loop_of(body), CPU, dict)
    assert sum(run.kernel.is_queued for run in runs) == queued
    for run, took in zip(runs, times, strict=True):
        least = GENERIC.launch * 1000 if run.kernel.is_queued else GENERIC.launch
        assert took >= least
        assert run.kernel.is_queued or took < 0.5 * GENERIC.launch * 1000
    assert kernels.unknown == []


def test_kernels_on_small_arrays_are_not_queued():
    def filtered(x):
        parts = [np.roll(x, n) @ np.ones((8, 8), "float32") for n in range(12)]
        return np.tanh(sum(parts[1:], parts[0]))

    module = compiled(scanned(filtered, 100), shape(8)).executable.hlo_module()
    assert not any(run.kernel.is_queued for run in Kernels(module).runs(lambda _: 0.0))


def test_the_first_call_of_a_kernel_in_a_loop_takes_a_launch():
    (negated, _) = timed(loop_of("y = f32[1024] negate(x)", calls=1), CPU, dict)[2]
    assert negated == pytest.approx(GENERIC.launch, rel=0.2)
    assert CPU.first_call(NOTHING) == CPU.first_call(NOTHING._replace(place="inlined")) == 0


@pytest.mark.parametrize(
    "changes", [{"is_library": True}, {"partitions": 2}, {"is_queued": True}, {"place": "program"}]
)
def test_a_kernel_of_threads_or_a_library_takes_a_launch_in_a_loop(changes):
    repeated = NOTHING._replace(place="loop")
    assert CPU.limits(repeated).launch == CPU.REPEATED < GENERIC.launch
    assert CPU.limits(repeated._replace(**changes)).launch == GENERIC.launch


def test_a_kernel_in_a_loop_runs_in_one_thread_per_partition():
    kernel = NOTHING._replace(place="loop", flops=10**6, read=2**20)
    assert CPU.limits(kernel).compute == pytest.approx(2 * 10**6 / GENERIC.vector)
    partitioned = kernel._replace(partitions=2)
    assert CPU.limits(partitioned).compute == pytest.approx(10**6 / GENERIC.vector)


def test_the_partitions_of_a_kernel_are_read_from_the_program():
    config = 'backend_config={"outer_dimension_partitions":["2","3"]}'
    (kernel, *_) = Kernels(loop_of(f"y = f32[1024] negate(x), {config}")).runs(lambda _: 0.0)
    assert kernel.kernel.partitions == 6


def test_arrays_that_fit_a_cache_are_read_from_it_in_each_iteration():
    kernel = NOTHING._replace(place="loop", read=2**10, written=2**10)
    slow = CPU.limits(kernel).memory
    for (size, rate), (_, next_rate) in itertools.pairwise([*CPU.CACHES, (0, 1)]):
        assert CPU.limits(kernel._replace(resident=size)).memory == pytest.approx(slow / rate)
        above = CPU.limits(kernel._replace(resident=size + 1)).memory
        assert above == pytest.approx(slow / next_rate)


def test_the_resident_bytes_of_a_kernel_are_those_of_its_iteration():
    runs = Kernels(loop_of(chain(3))).runs(lambda _: 0.0)
    moved = sum(run.kernel.read + run.kernel.written for run in runs)
    assert moved >= 3 * 2 * 4096
    assert {run.kernel.resident for run in runs} == {moved}
    outside = Kernels(compiled(np.sort, shape(64)).executable.hlo_module()).runs(lambda _: 0.0)
    assert {run.kernel.resident for run in outside} == {0}


def test_the_limits_of_a_gpu_do_not_depend_on_loops():
    kernel = NOTHING._replace(read=2**20, written=2**20, flops=10)
    machine = GpuMachine(MODEL)
    for place in ("loop", "inlined"):
        in_loop = kernel._replace(place=place, is_library=True, is_queued=True, resident=64)
        assert machine.limits(in_loop) == machine.limits(kernel)
        assert machine.first_call(in_loop) == 0
