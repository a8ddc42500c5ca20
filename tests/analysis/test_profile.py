"""Profiles: kernels that XLA's profiler recorded, with lines, scopes and the estimate."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.analysis import Profile
from olympus.errors import BackendError, SignatureError, UsageError
from olympus_core.analysis.profiling import _union
from olympus_core.xla.runtime import profiler
from olympus_core.xla.runtime.profiler import read_recording, record

HERE = __file__


def line_of(text: str) -> str:
    """Return the place of the only line of this file that ends with a mark."""
    with open(HERE) as file:
        (number,) = [i for i, line in enumerate(file, 1) if line.rstrip().endswith("# " + text)]
    return f"{HERE}:{number}"


def heavy(x: Any) -> Any:
    with olympus.named_scope("first"):
        y = x @ x @ x  # the product
    with olympus.named_scope("second"):
        return y + 1.0


def loss(w: Any, x: Any) -> Any:
    with olympus.named_scope("dense"):
        y = jnp.tanh(x @ w)  # dense
    return (y * y).sum()


SQUARE = np.full((384, 384), 0.01, np.float32)


@pytest.fixture(scope="module")
def product() -> Profile:
    return olympus.jit(heavy).lower(SQUARE).compile().profile(SQUARE, runs=3)


def test_a_product_takes_the_most_time_of_the_kernels(product: Profile) -> None:
    rows = [row for row in product.by("line") if row.kernels]
    assert rows[0].key == line_of("the product")
    assert rows[0].calls == 2
    assert next(row.key for row in product.by("scope") if row.kernels) == "first"
    assert next(row.key for row in product.by("operation") if row.kernels) == "dot_general"


def test_rows_add_up(product: Profile) -> None:
    total = sum(kernel.seconds for kernel in product.kernels)
    for kind in ("line", "scope", "operation", "kernel"):
        rows = product.by(kind)
        assert sum(row.seconds for row in rows) == pytest.approx(total)
        assert sum(row.share for row in rows) == pytest.approx(1.0)


def test_the_time_without_kernels_has_its_own_rows(product: Profile) -> None:
    assert [kernel.name for kernel in product.kernels[-2:]] == ["(call)", "(between kernels)"]
    assert all(kernel.is_overhead for kernel in product.kernels[-2:])
    assert 0 < product.kernel_seconds <= product.seconds
    assert product.coverage == product.kernel_seconds / product.seconds
    assert product.runs == 3
    assert product.undisturbed > 0


def test_kernels_have_their_estimates(product: Profile) -> None:
    expected = {kernel.name: kernel for kernel in product.estimate.kernels}
    for kernel in product.kernels[:-2]:
        assert kernel.estimated == pytest.approx(expected[kernel.name].seconds)
        assert kernel.bound == expected[kernel.name].bound


def test_the_timeline_is_within_the_call(product: Profile) -> None:
    spans = [span for span in product.timeline if span.kernel]
    assert {span.kernel for span in spans} == {kernel.name for kernel in product.kernels[:-2]}
    assert all(span.start >= 0 and span.seconds >= 0 for span in product.timeline)
    assert all(0 <= span.thread < len(product.threads) for span in product.timeline)


def test_kernels_of_a_loop_count_their_calls() -> None:
    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.sin(c @ x), None), x, None, length=7)[0]

    profile = olympus.jit(scanned).lower(SQUARE).compile().profile(SQUARE, runs=2)
    calls = {row.key: row.calls for row in profile.by("operation")}
    assert calls["sin"] == 7
    assert "while" not in calls  # its time is counted in its kernels


def test_a_loop_whose_length_depends_on_data_counts_its_actual_calls() -> None:
    def until(x: Any) -> Any:
        return lax.while_loop(
            lambda c: c[0] < c[1][0, 0] + 20, lambda c: (c[0] + 1, c[1] @ c[1]), x
        )

    args = (np.float32(0), np.zeros((8, 8), np.float32))
    profile = olympus.jit(until).lower(args).compile().profile(args, runs=2)
    (row,) = [row for row in profile.by("operation") if row.key == "dot_general"]
    assert row.calls == 20
    (product,) = [
        kernel for kernel in profile.estimate.kernels if kernel.operation == "dot_general"
    ]
    assert product.calls == 1
    assert row.estimated == pytest.approx(20 * product.seconds)


def test_a_loop_that_is_compiled_to_one_kernel_has_one_row() -> None:
    def small(x: Any) -> Any:
        return lax.while_loop(lambda c: c.sum() < 100, lambda c: c + 1.0, x)

    x = np.zeros((2, 2), np.float32)
    profile = olympus.jit(small).lower(x).compile().profile(x, runs=2)
    (row,) = [row for row in profile.by("operation") if row.key == "while"]
    assert row.estimated is None  # its number of iterations depends on data
    assert profile.unseen == ()


def test_a_rewritten_operation_has_the_name_of_the_program() -> None:
    """The CPU sorts floats by integer keys, in several kernels."""
    profile = olympus.jit(lambda x: jnp.sort(x, axis=0)).lower(SQUARE).compile().profile(SQUARE)
    (row,) = [row for row in profile.by("operation") if row.kernels]
    assert row.key == "sort"


def test_a_sort_with_two_events_is_called_once() -> None:
    integers = SQUARE.astype("int32")
    sort = olympus.jit(lambda x: jnp.sort(x, axis=0)).lower(integers).compile()
    profile = sort.profile(integers)
    (row,) = [row for row in profile.by("operation") if row.key == "sort"]
    assert row.calls == 1


def test_the_backward_pass_is_marked() -> None:
    step = olympus.jit(olympus.grad(loss))
    profile = step.lower(SQUARE, SQUARE).compile().profile(SQUARE, SQUARE, runs=2)
    rows = {row.key: row for row in profile.by("line")}
    assert rows[line_of("dense")].direction == "both"
    assert {kernel.scope for kernel in profile.kernels if kernel.backward} >= {"dense"}


def test_kernels_without_events_are_listed_as_unseen(product: Profile) -> None:
    seen = {kernel.name for kernel in product.kernels}
    unseen = {kernel.name for kernel in product.unseen}
    assert unseen == {"(new memory)"}
    assert seen - {"(between kernels)"} | unseen == {k.name for k in product.estimate.kernels}
    assert product.estimated == pytest.approx(product.estimate.seconds)


def test_donated_arguments_keep_their_buffers() -> None:
    x = olympus.device_put(np.arange(4.0, dtype=np.float32))
    compiled = olympus.jit(lambda x: x + 1, donate_argnums=0).lower(x).compile()
    assert compiled.profile(x, runs=2).runs == 2
    assert np.array_equal(x, np.arange(4.0))


def test_an_argument_named_runs_is_passed_in_kwargs() -> None:
    def named(*, runs: Any) -> Any:
        return runs * 2

    x = np.ones(4, np.float32)
    compiled = olympus.jit(named).lower(runs=x).compile()
    assert olympus.analysis.profile(compiled, kwargs={"runs": x}, runs=1).runs == 1
    with pytest.raises(UsageError, match="runs is how many calls"):
        compiled.profile(runs=x)


@pytest.mark.parametrize("runs", [0, -1, 1.5, True, "3"])
def test_bad_numbers_of_runs_are_refused(runs: Any) -> None:
    compiled = olympus.jit(heavy).lower(SQUARE).compile()
    with pytest.raises(UsageError, match="1 or more"):
        compiled.profile(SQUARE, runs=runs)


def test_bad_arguments_and_kinds_are_refused(product: Profile) -> None:
    compiled = olympus.jit(heavy).lower(SQUARE).compile()
    with pytest.raises(SignatureError, match="Argument 'x' compiled with"):
        compiled.profile(SQUARE.astype(np.int32))
    with pytest.raises(UsageError, match="by one of line, scope, operation, kernel"):
        product.by("dtype")  # type: ignore[arg-type]


def test_a_program_of_too_many_kernels_is_refused() -> None:
    def long(x: Any) -> Any:
        return lax.fori_loop(0, 1_000_000, lambda i, c: jnp.sin(c @ c), x)

    x = np.zeros((8, 8), np.float32)
    with pytest.raises(UsageError, match="more than 200,000 kernels"):
        olympus.jit(long).lower(x).compile().profile(x)


def test_a_profile_during_a_profile_is_refused() -> None:
    compiled = olympus.jit(heavy).lower(SQUARE).compile()
    with pytest.raises(UsageError, match="a profile is already being recorded"):
        record(lambda: compiled.profile(SQUARE))
    assert compiled.profile(SQUARE, runs=1).runs == 1  # the next profile works


@pytest.fixture
def foreign_session() -> Iterator[None]:
    module = profiler.profiler_module()
    session = module.ProfilerSession(profiler._options(module))
    yield
    session.stop()


def test_a_session_that_other_code_started_is_an_error(foreign_session: None) -> None:
    with pytest.raises(UsageError, match="a profile is already being recorded"):
        record(lambda: None)


def test_a_call_that_fails_ends_its_session() -> None:
    with pytest.raises(ZeroDivisionError):
        record(lambda: 1 / 0)
    assert record(lambda: None).seconds > 0


def test_a_program_that_runs_in_another_thread_cannot_be_profiled() -> None:
    compiled = olympus.jit(heavy).lower(SQUARE).compile()
    stop = threading.Event()

    def call_repeatedly() -> None:
        while not stop.is_set():
            compiled(SQUARE).block_until_ready()

    thread = threading.Thread(target=call_repeatedly)
    thread.start()
    try:
        with pytest.raises(UsageError, match="ran in another thread"):
            compiled.profile(SQUARE, runs=50)
    finally:
        stop.set()
        thread.join()


def test_data_that_is_not_a_recording_is_refused() -> None:
    with pytest.raises(BackendError, match="cannot be read"):
        read_recording(b"no protobuf")
    with pytest.raises(BackendError, match="recorded 0 calls"):
        read_recording(b"")


def test_an_event_lasts_until_its_end_event() -> None:
    text = """
      planes { name: "/host:CPU" lines { name: "python/7" timestamp_ns: 1000
          events { metadata_id: 1 offset_ps: 0 duration_ps: 9000000 }
          events { metadata_id: 2 offset_ps: 1000000 duration_ps: 1000000
            stats { metadata_id: 1 str_value: "dot" } stats { metadata_id: 2 str_value: "jit_f" }
            stats { metadata_id: 3 uint64_value: 5 } stats { metadata_id: 4 int64_value: 0 } }
          events { metadata_id: 3 offset_ps: 6000000 duration_ps: 1000
            stats { metadata_id: 5 uint64_value: 5 } stats { metadata_id: 6 int64_value: 0 } } }
        event_metadata { key: 1 value { id: 1 name: "olympus call" } }
        event_metadata { key: 2 value { id: 2 name: "dot" } }
        event_metadata { key: 3 value { id: 3 name: "end: dot" } }
        stat_metadata { key: 1 value { id: 1 name: "hlo_op" } }
        stat_metadata { key: 2 value { id: 2 name: "hlo_module" } }
        stat_metadata { key: 3 value { id: 3 name: "_p" } }
        stat_metadata { key: 4 value { id: 4 name: "_pt" } }
        stat_metadata { key: 5 value { id: 5 name: "_c" } }
        stat_metadata { key: 6 value { id: 6 name: "_ct" } } }"""
    recording = read_recording(profiler._reader().text_proto_to_serialized_xspace(text))
    assert recording.threads == ("python",)
    assert recording.seconds == pytest.approx(9e-6)
    (event,) = [event for event in recording.events if event.operation]
    assert (event.module, event.name) == ("jit_f", "dot")
    assert event.end - event.start == pytest.approx(1e-6)
    assert event.until - event.start == pytest.approx(5e-6)


def test_overlapping_intervals_count_once() -> None:
    assert _union([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0), (5.2, 5.5)]) == 4.0


def test_the_profiler_is_loaded_only_when_it_is_used() -> None:
    code = (
        "import sys, olympus, olympus.analysis, numpy as np\n"
        "x = np.ones(3, 'float32')\n"
        "olympus.jit(lambda x: x + 1).lower(x).compile()(x)\n"
        "assert not {'jaxlib._profiler', 'jaxlib._profile_data'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
