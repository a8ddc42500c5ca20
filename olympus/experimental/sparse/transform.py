"""Functions of dense arrays on sparse ones."""

from olympus_core.library.sparse.sparsify import sparsify as sparsify
