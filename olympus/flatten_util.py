"""Trees of arrays as one vector, and back."""

from olympus_core.library.flatten_util import ravel_pytree as ravel_pytree
