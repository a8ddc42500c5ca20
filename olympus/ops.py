"""Reductions of the rows of an array by segments."""

from olympus_core.library.ops import segment_max as segment_max
from olympus_core.library.ops import segment_min as segment_min
from olympus_core.library.ops import segment_prod as segment_prod
from olympus_core.library.ops import segment_sum as segment_sum
