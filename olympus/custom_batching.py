"""Functions whose mapped form their author wrote."""

from olympus_core.control.custom_vmap import custom_vmap as custom_vmap
from olympus_core.library.lax.sequential import sequential_vmap as sequential_vmap
