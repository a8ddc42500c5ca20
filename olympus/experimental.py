"""Where programs written for JAX look for what has its place in `olympus` by now."""

from olympus_core.context import disable_x64 as disable_x64
from olympus_core.context import enable_x64 as enable_x64
