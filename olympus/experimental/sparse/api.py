"""Sparse arrays of every format."""

from olympus_core.extension.sparse_primitives import todense_p as todense_p
from olympus_core.library.sparse.creation import empty as empty
from olympus_core.library.sparse.creation import eye as eye
from olympus_core.library.sparse.creation import todense as todense
