"""`olympus.experimental.compute_on`: the place where XLA computes operations."""

from olympus_core.library.experimental.places import compute_on as compute_on
from olympus_core.library.experimental.places import compute_on2 as compute_on2
