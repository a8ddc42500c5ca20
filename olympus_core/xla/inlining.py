"""Whether the compiler for the CPU keeps a call as a call where a program asks for it.

The attribute that asks is XLA's own, and no part of StableHLO: a version may drop it.
"""

from __future__ import annotations

import functools

from olympus_core.xla.compiler import compile
from olympus_core.xla.targets import Target

__all__ = ["KEPT", "keeps_calls"]

#: the attribute of a call that is kept, as its name and the text of its value
KEPT = ("mhlo.frontend_attributes", '{inlineable = "false"}')

_PROBE = f"""
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = call @kept(%x) {{{KEPT[0]} = {KEPT[1]}}} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}}
func.func private @kept(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}}
"""


@functools.cache
def keeps_calls() -> bool:
    """Whether this jaxlib's compiler does; a program of one call is compiled once a process.

    >>> keeps_calls()
    True
    """
    return " call(" in compile(_PROBE.encode(), Target("cpu")).hlo_text(metadata=False)
