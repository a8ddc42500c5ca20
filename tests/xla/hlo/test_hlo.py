"""The program before optimization as text, graph, protobuf and cost."""

from __future__ import annotations

import pytest

from olympus_core import xla
from olympus_core.base.errors import CompileError


def test_hlo_text_has_the_layout_and_the_operations(programs):
    text = xla.hlo_text(programs["muladd"])
    assert text.startswith("HloModule jit_f, entry_computation_layout={(s32[], s32[])->s32[]}")
    assert "multiply" in text


def test_the_graph_is_dot_and_the_protobuf_has_the_name(programs):
    assert xla.hlo_dot(programs["muladd"]).lstrip().startswith("digraph")
    assert b"jit_f" in xla.hlo_proto(programs["muladd"])


def test_the_cost_before_optimization_counts_flops(programs):
    cost = xla.hlo_cost_analysis(programs["muladd"])
    assert cost["flops"] == 2.0
    assert list(cost) == sorted(cost)
    assert xla.hlo_cost_analysis(programs["matmul"])["flops"] >= 2 * 512**3


def test_text_that_is_not_a_module_is_refused():
    with pytest.raises(CompileError, match="the compiler failed"):
        xla.hlo_text(b"module { func.func")
