"""The execution of a primitive as a program of its own."""

from olympus_core.library.extension.applied import apply_primitive as apply_primitive
