"""A check that the compiler for the CPU honours a request not to inline a call.

The attribute of the request is XLA's own, and no part of StableHLO: a version may drop it.
"""

from __future__ import annotations

import functools

from olympus_core.xla.door import JAXLIB_VERSION
from olympus_core.xla.runtime.compiler import compile
from olympus_core.xla.targets.targets import Target

#: The attribute of a call that is not inlined, as its name and the text of its value.
NOINLINE_ATTRIBUTE = ("mhlo.frontend_attributes", '{inlineable = "false"}')

#: The prefixes of the versions of jaxlib that do not inline marked calls, as the tests check.
_TESTED_VERSIONS = ("0.10.2", "0.12.0")

_PROBE = f"""
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = call @callee(%x) {{{" = ".join(NOINLINE_ATTRIBUTE)}}} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}}
func.func private @callee(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}}
"""


def keeps_calls(version: str = JAXLIB_VERSION) -> bool:
    """Return True if the compiler of this jaxlib does not inline marked calls.

    A version that OLYMPUS was not tested with is probed, once in a process.

    >>> keeps_calls()
    True
    """
    return version.startswith(_TESTED_VERSIONS) or probed()


@functools.cache
def probed() -> bool:
    """Return True if the compiled form of a one-call program still has the call."""
    return " call(" in compile(_PROBE.encode(), Target("cpu")).hlo_text(metadata=False)
