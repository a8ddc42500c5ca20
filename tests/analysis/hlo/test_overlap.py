"""Asynchronous collectives take the time that the kernels beside them do not."""

from __future__ import annotations

from olympus_core.analysis.hlo.estimate import estimate
from olympus_core.analysis.hlo.overlap import hidden
from olympus_core.xla import target
from olympus_core.xla.bindings import _hlo
from olympus_core.xla.hlo.hlo_reader import read_hlo_module

PERMUTED = """
HloModule permuted, is_scheduled=true, num_partitions=4

ENTRY main {{
  x = bf16[{rows},4096]{{1,0}} parameter(0)
  w = bf16[4096,4096]{{1,0}} parameter(1)
  start = (bf16[{rows},4096]{{1,0}}, bf16[{rows},4096]{{1,0}}, u32[]{{:S(2)}}, u32[]{{:S(2)}})
    collective-permute-start(x), channel_id=1, source_target_pairs={{{{0,1}},{{1,0}}}}
  {between}
  done = bf16[{rows},4096]{{1,0}} collective-permute-done(start)
  {after}
  ROOT sum = bf16[{rows},4096]{{1,0}} add(done, product)
}}
"""
PRODUCT = (
    "product = bf16[{rows},4096]{{1,0}} dot(x, w), lhs_contracting_dims={{1}}, "
    "rhs_contracting_dims={{0}}"
)


def times(between: str = "", after: str = "", rows: int = 4096):
    text = PERMUTED.format(
        rows=rows, between=between.format(rows=rows), after=after.format(rows=rows)
    )
    module = read_hlo_module(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    return {k.name: k.seconds for k in estimate(module, target("tpu", "v5e:2x2"), count=4).kernels}


def test_a_collective_is_hidden_by_the_kernels_before_its_end():
    serial, beside = times(after=PRODUCT), times(between=PRODUCT)
    assert serial["product"] == beside["product"]
    assert serial["start"] > serial["product"] / 2
    assert serial["start"] - serial["product"] <= beside["start"] < serial["start"] / 2


def test_a_kernel_hides_one_collective_at_a_time():
    assert hidden([(0, 3), (1, 4)], {0: 3.0, 1: 3.0}, {2: 4.0}) == {0: 3.0, 1: 1.0}
    assert hidden([(0, 1)], {0: 3.0}, {2: 4.0}) == {0: 0.0}
    assert hidden([], {}, {1: 1.0}) == {}
