"""The laws that every primitive obeys, for every row of the table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from olympus_core.base.errors import InternalError
from olympus_core.ir.check import check
from olympus_core.ir.primitive import Primitive, op
from tests.primitives.case import Case, as_plain
from tests.primitives.cases import CASES, with_dtypes
from tests.primitives.cases_collective import AXIS_CASES

FIRST = [pytest.param(c, id=c.id) for c in CASES]
_COARSE = {"bfloat16": 2e-2, "float16": 2e-3}


def leaves(tree: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(x) for x in jax.tree.leaves(tree)]


def assert_agree(got: Any, want: Any, case: Case, dtype: str) -> None:
    tolerance = _COARSE.get(dtype, 0.0)
    got_leaves, want_leaves = olympus.tree.leaves(got), leaves(want)
    assert len(got_leaves) == len(want_leaves)
    for a, b in zip(got_leaves, want_leaves, strict=True):
        a = np.asarray(a)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(
            as_plain(a), as_plain(b), rtol=max(case.rtol, tolerance), atol=max(case.atol, tolerance)
        )


@pytest.mark.parametrize(("case", "dtype"), with_dtypes(lambda case: case.dtypes))
def test_value_agrees_with_the_oracle_eager_and_compiled(case: Case, dtype: str) -> None:
    xs = case.arrays(dtype)
    want = jax.jit(lambda *a: case.call(jax.lax, *a))(*xs)
    compiled = olympus.jit(lambda *a: case.call(olympus.lax, *a))(*xs)
    assert_agree(compiled, want, case, dtype)
    arrays = [olympus.device_put(x) for x in xs]
    assert_agree(case.call(olympus.lax, *arrays), want, case, dtype)


@pytest.mark.parametrize("case", FIRST)
def test_lowering_is_golden_and_well_typed(case: Case, golden: Callable[[str, str], None]) -> None:
    xs = case.arrays(case.dtypes[0])
    traced = olympus.jit(lambda *a: case.call(olympus.lax, *a)).trace(*xs)
    check(traced.olympuspr)
    text = f"{traced.olympuspr}\n\n{traced.lower().as_text()}"
    golden(f"primitives/{case.id}.txt", text)


def test_every_golden_file_is_of_a_row() -> None:
    names = {f"primitives/{case.id}.txt" for case in [*CASES, *AXIS_CASES]}
    folder = Path(__file__).parents[1] / "golden"
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert sorted(files - names) == []


def test_every_primitive_has_a_row() -> None:
    covered = {case.primitive for case in [*CASES, *AXIS_CASES]}
    # Every row has `jit`.  Lowering creates `block`: tests/blocks/test_outline.py tests it.
    # Tracing replaces `custom_vjp_backward`: tests/control/test_custom_rules.py tests it.
    # Lowering creates `tiled_convolution`: tests/execution/test_kernel_transforms.py tests it.
    # Raising creates `opaque`: tests/raising/test_raising.py tests it.
    # A symbolic size creates `dimension_value`: tests/lowering/test_symbolic_library.py tests it.
    # A call of an exported program is `call_exported`: tests/export tests it.
    # The functions that `ffi_call` calls are not those of all platforms: tests/extension tests it.
    # Functions of the process are called: tests/control/test_host_calls.py tests the calls.
    # `checkify` replaces `check`: tests/library/test_checkify.py tests it.
    # Calls and identities with requests to the compiler: tests/library/test_experimental.py
    annotated = {"xla_metadata_call", "compute_on", "fused_call", "program_order"}
    annotated |= {"xla_metadata_value", "layout_constraint", "shard_alike"}
    others = {"check", "debug_callback", "io_callback", "pure_callback"}
    # Functions write buffers: tests/control/test_buffer_calls.py
    others |= {"buffer_callback", "buffer_effect_callback"}
    others |= {"ffi_call", "ffi_effect_call"}
    others |= {"jit", "block", "custom_vjp_backward", "opaque", "dimension_value", "call_exported"}
    # Several devices partition it: tests/devices/test_custom_partitioning.py
    others |= {"tiled_convolution", "custom_partitioning"}
    missing = {p.name for p in op.every()} - covered - others - annotated
    assert not missing, f"no row in tests/primitives/cases.py for {sorted(missing)}"


def test_rows_use_the_primitive_that_they_name() -> None:
    wrong = []
    for case in CASES:
        texts = []
        for dtype in case.dtypes:
            traced = olympus.jit(lambda *a, c=case: c.call(olympus.lax, *a))
            texts.append(str(traced.trace(*case.arrays(dtype)).olympuspr))
        named = re.compile(rf" {case.primitive}(?![\w-])")  # reduce is not reduce_sum
        if not any(named.search(text) for text in texts):
            wrong.append(case.id)
    assert not wrong


def test_a_cheap_primitive_takes_a_few_flops_and_no_transcendental_function() -> None:
    checked = set()
    for case in CASES:
        primitive, real = op.find(case.primitive), [d for d in case.dtypes if "complex" not in d]
        if primitive is None or not primitive.is_cheap or not real:
            continue
        lowered = olympus.jit(lambda *a, c=case: c.call(olympus.lax, *a)).lower(
            *case.arrays(real[0])
        )
        if not lowered.olympuspr.eqns or not all(
            e.primitive.is_cheap for e in lowered.olympuspr.eqns
        ):
            continue  # the row of `name` takes a sine too
        cost, size = lowered.cost(), max(e.outputs[0].aval.size for e in lowered.olympuspr.eqns)
        assert cost.transcendentals == 0 and cost.flops <= 4 * size, case.id  # x**-3 takes four
        checked.add(case.primitive)
    cheap = {p.name for p in op.every() if p.is_cheap}
    # of complex numbers, and of symbolic sizes
    assert cheap - checked == {"name", "real", "imag", "dimension_value"}


def test_a_second_primitive_of_a_name_is_refused() -> None:
    mul = op.find("mul")
    with pytest.raises(InternalError, match=r"two primitives 'mul', of .*arithmetic and of "):
        Primitive("mul")
    assert op.find("mul") is mul
    assert op.mul == mul.bind


@pytest.mark.parametrize("name", ["lu", "scan", "fft"])
def test_a_primitive_is_found_wherever_it_is_declared(name: str) -> None:
    code = (
        "import sys; from olympus_core.primitives.elementwise.arithmetic import add_p\n"
        "from olympus_core.ir.primitive import op\n"
        "assert 'olympus_core.primitives.linalg.lu' not in sys.modules\n"
        f"print(op.{name})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"<bound method Primitive.bind of {name}>"
