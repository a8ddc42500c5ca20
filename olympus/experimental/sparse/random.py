"""Random sparse arrays."""

from olympus_core.library.sparse.creation import random_bcoo as random_bcoo
