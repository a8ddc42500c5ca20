"""The execution of a primitive as a program of its own."""

from olympus_core.extension.applied import apply_primitive as apply_primitive
from olympus_core.extension.backend import Backend as Backend
