"""Repeated blocks: their lowered and compiled code, and their warnings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus as ox
from benchmarks.networks import TEST_NETWORKS
from olympus_core import xla
from olympus_core.base.errors import OlympusWarning, UsageError
from olympus_core.execution import compilation
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.mlir import bindings as mlir
from olympus_core.raising.raising import raise_module
from olympus_core.xla.runtime import compiler
from olympus_core.xla.runtime.invocation import compile_options, copying_late
from tests.blocks.networks import (
    X,
    forward,
    found,
    layer,
    params,
    step,
)

ROOT = Path(__file__).parents[2]


def test_calls_of_blocks_remain_in_the_optimized_program() -> None:
    lowered = ox.jit(step).trace(params(6), X).lower()
    calls = sum(b.occurrences for b in lowered.blocks)
    assert calls >= 10
    assert lowered.as_text().count('inlineable = "false"') == calls
    optimized = lowered.compile().as_text()
    marked_lines = [line for line in optimized.splitlines() if 'inlineable="false"' in line]
    assert sum(" call(" in line for line in marked_lines) == calls


def test_a_block_is_copied_for_each_call_once_it_is_optimized() -> None:
    text = ox.jit(forward).trace(params(6), X).lower().compile().as_text()
    fusions = set(re.findall(r"calls=%?(fused_computation[\w.]*)", text))
    copies = {name for name in fusions if ".clone" in name}
    assert len(copies) >= 5 * len({name.partition(".clone")[0] for name in copies})


def test_to_copy_late_leaves_the_other_options() -> None:
    grid = xla.devices("cpu")[:1]
    options = compile_options(grid, {"xla_backend_optimization_level": 0})
    late = copying_late(options)
    assert b"xla_cpu_flatten_after_fusion" in late.SerializeAsString()
    assert b"xla_cpu_flatten_after_fusion" not in options.SerializeAsString()
    assert dict(late.env_option_overrides) == dict(options.env_option_overrides)
    for name in ("num_replicas", "num_partitions"):
        assert getattr(late, name) == getattr(options, name)
    usual, found = (each.executable_build_options.debug_options for each in (options, late))
    assert usual.xla_dump_max_hlo_modules == -1  # of XLA's defaults one that is not 0
    extra = r"xla_backend_extra_options \{[^}]*\}\s*"
    assert re.sub(extra, "", str(found)) == re.sub(extra, "", str(usual))


def test_the_portable_program_keeps_them() -> None:
    lowered = ox.jit(forward).trace(params(6), X).lower()
    with mlir.context():
        module = mlir.hlo.deserialize_portable_artifact(mlir.context(), lowered.bytecode())
        assert str(module).count('inlineable = "false"') == 6
    executable = xla.compile(lowered.bytecode(), ox.Target("cpu"))
    assert executable.hlo_text(metadata=False).count(" call(") >= 6


@pytest.mark.parametrize("target", [("gpu", "h200"), ("tpu", None)])
def test_other_targets_get_the_program_as_it_is(target: Any) -> None:
    traced = ox.jit(forward).trace(params(6), X)
    lowered = traced.lower(ox.Target(*target))
    assert lowered.blocks == ()
    assert lowered.as_text() == traced.lower(ox.Target(*target), repeats="off").as_text()
    assert "call" not in lowered.as_text()


def test_a_program_for_several_platforms_has_none() -> None:
    traced = ox.jit(forward).trace(params(6), X)
    both = traced.lower(lowering_platforms=("cpu", "cuda"))
    assert both.blocks == ()
    assert "inlineable" not in both.compile(repeats="auto").as_text()
    assert len(traced.lower(lowering_platforms="cpu").blocks) == 1


def test_repeats_is_an_argument_of_lower_and_of_compile() -> None:
    lowered = ox.jit(forward).lower(params(6), X)
    assert len(lowered.blocks) == 1
    assert " call(" in lowered.compile().as_text()
    assert "inlineable" not in lowered.compile(repeats="off").as_text()
    off = ox.jit(forward).trace(params(6), X).lower(repeats="off")
    assert off.blocks == ()
    assert "inlineable" in off.compile(repeats="auto").as_text()
    for call in (ox.jit(forward).trace(params(6), X).lower, lowered.compile):
        with pytest.raises(UsageError, match='repeats is "auto" or "off", and got \'on\''):
            call(repeats="on")  # type: ignore[arg-type]


def test_unused_donations_warn_once() -> None:
    def halves(ps: Any, x: Any) -> Any:
        return forward(ps, x)[:2]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lowered = ox.jit(halves, donate_argnums=1).trace(params(5), X).lower()
        lowered.compile(repeats="off")
        lowered.compile()
    assert [str(w.message)[:27] for w in caught] == ["Some donated buffers were n"]


def test_a_function_called_at_once_has_blocks_too() -> None:
    called = ox.jit(forward)
    np.testing.assert_allclose(
        called(params(6), X),
        called.trace(params(6), X).lower(repeats="off").compile()(params(6), X),
        rtol=2e-5,
        atol=2e-5,
    )


def test_a_compiler_that_drops_the_attribute_causes_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert compiler.keeps_calls()
    assert compiler.probed()
    monkeypatch.setattr(compilation.xla, "keeps_calls", lambda: False)
    traced = ox.jit(forward).trace(params(6), X)
    with pytest.warns(OlympusWarning, match="does not keep the repeated blocks"):
        lowered = traced.lower()
    assert lowered.blocks == ()
    assert lowered.as_text() == traced.lower(repeats="off").as_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a program without blocks warns of nothing
        ox.jit(lambda x: x + 1).trace(X).lower()


def test_the_probe_rejects_a_compiler_that_inlines_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_PROBE", compiler._PROBE.replace("false", "true"))
    monkeypatch.setattr(compiler, "probed", compiler.probed.__wrapped__)
    assert not compiler.keeps_calls("0.99.0")
    assert compiler.keeps_calls("0.12.0.1")


def test_a_block_is_written_where_it_comes_first() -> None:
    text = str(ox.jit(forward).trace(params(6), X).lower().olympuspr)
    assert text.count("name=block_1") == 6
    assert text.count("olympuspr={") == 1


def test_lines_are_those_of_the_first_occurrence() -> None:
    def unrolled(ps: Any, x: Any) -> Any:
        x = layer(ps[0], x) + 1.0
        x = layer(ps[1], x) + 1.0
        x = layer(ps[2], x) + 1.0
        return layer(ps[3], x) + 1.0

    (block,) = found(unrolled, params(4), X)
    here = {int(x.rpartition(":")[2]) for x in block.lines if Path(__file__).name in x}
    start = unrolled.__code__.co_firstlineno
    assert here & set(range(start, start + 5)) == {start + 1}


PROGRAM = """
import sys
sys.path.insert(0, {root!r})
import olympus as ox
from tests.blocks.networks import X, params, step
lowered = ox.jit(step).trace(params(6), X).lower()
print(lowered.olympuspr)
print(lowered.as_text())
"""


def test_names_and_order_do_not_depend_on_the_process() -> None:
    texts = set()
    for seed in ("0", "7"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(root=str(ROOT))],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        texts.add(done.stdout)
    assert len(texts) == 1
    assert "block_2" in texts.pop()


def test_what_a_trace_gives_has_no_blocks() -> None:
    assert "block" not in str(ox.jit(forward).trace(params(6), X).olympuspr)


def test_results_that_blocks_read_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = next(x for x in TEST_NETWORKS if x.name == "convolutions of images, step").traced()
    entry, target = compilation.entry_attributes("main", program), ox.Target("cpu")

    def lowered(program: Olympuspr) -> tuple[Any, int]:
        module = compilation.lower(program, entry, target)[0]
        return module, str(module).count("LayoutConstraint")

    def copies(module: Any) -> int:
        text = xla.compile(module, target).hlo_text(metadata=False)
        return text.count(" copy(")

    module, count = lowered(program)
    assert count > 0
    few = copies(module)
    raised = raise_module(module)
    assert "opaque" not in str(raised)
    assert lowered(raised)[1] == count
    monkeypatch.setattr(compilation, "order_block_results", lambda module: 0)
    module, count = lowered(program)
    assert count == 0
    assert copies(module) > few
