"""Loops of a compiler, whose counter starts at a constant and is compared with one."""

from __future__ import annotations

import pytest

from olympus_core.analysis.hlo.counted_loops import counted_trips
from olympus_core.xla.bindings import _hlo
from olympus_core.xla.hlo.hlo_reader import read_hlo_module

LOOP = """
HloModule loop

cond {{
  state = (s32[], f32[4], s32[]) parameter(0)
  counter = s32[] get-tuple-element(state), index=0
  limit = s32[] {limit}
  ROOT below = pred[] compare(counter, limit), direction={direction}
}}

body {{
  state = (s32[], f32[4], s32[]) parameter(0)
  counter = s32[] get-tuple-element(state), index=0
  x = f32[4] get-tuple-element(state), index=1
  last = s32[] get-tuple-element(state), index=2
  step = s32[] {step}
  next = s32[] {next}
  doubled = f32[4] add(x, x)
  ROOT result = (s32[], f32[4], s32[]) tuple(next, doubled, last)
}}

ENTRY main {{
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  start = s32[] {start}
  copied = s32[] copy(start)
  last = s32[] constant(11)
  state = (s32[], f32[4], s32[]) tuple(copied, x, last)
  ROOT loop = (s32[], f32[4], s32[]) while(state), condition=cond, body=body
}}
"""
USUAL = {
    "limit": "constant(8)",
    "direction": "LT",
    "step": "constant(1)",
    "next": "add(counter, step)",
    "start": "constant(0)",
}


def trips(**changes: str) -> int | None:
    text = LOOP.format(**{**USUAL, **changes})
    module = read_hlo_module(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    (loop,) = [i for i in module.entry.instructions.values() if i.opcode == "while"]
    return counted_trips(loop, module.entry, module)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 8),
        ({"step": "constant(3)"}, 3),
        ({"start": "constant(-2)"}, 10),
        ({"start": "constant(9)"}, 0),
        ({"next": "add(step, counter)"}, 8),
        ({"limit": "get-tuple-element(state), index=2"}, 11),  # a constant of the state
        ({"step": "get-tuple-element(state), index=2"}, 1),
        ({"direction": "GT"}, None),
        ({"next": "subtract(counter, step)"}, None),
        ({"start": "copy(n)"}, None),  # it depends on data
        ({"step": "constant(0)"}, None),
    ],
)
def test_the_iterations_of_a_counter(changes, count):
    assert trips(**changes) == count
