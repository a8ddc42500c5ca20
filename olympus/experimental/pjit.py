"""`pjit`, which older programs call what is `olympus.jit` by now."""

from olympus_core.api import jit as _jit

pjit = _jit
