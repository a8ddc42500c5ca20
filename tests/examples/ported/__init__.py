"""Programs in the styles of the libraries that people build on JAX.

Each is a function of the library's module, `jax` or `olympus`, and gives a tree of arrays: what it
computes is what the two must agree on.
"""

from tests.examples.ported import methods, networks
from tests.examples.ported.table import PROGRAMS

__all__ = ["PROGRAMS", "methods", "networks"]
