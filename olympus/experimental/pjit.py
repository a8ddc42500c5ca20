"""`pjit`, the `jit` of older programs, which uses the mesh of `with mesh:`."""

from olympus_core.api.pjit import pjit as pjit
