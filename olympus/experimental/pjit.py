"""`pjit`, the name of `olympus.jit` in older programs."""

from olympus_core.api.jit import jit as _jit

pjit = _jit
