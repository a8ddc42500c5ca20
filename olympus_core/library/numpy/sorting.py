"""numpy's sorting and searching: arrays enter, elements in order, or their places, leave."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from olympus_core import dtypes
from olympus_core.avals import get_aval
from olympus_core.errors import ShapeError, TraceError
from olympus_core.library.composite import composite
from olympus_core.library.numpy.axes import one_axis, operand
from olympus_core.library.numpy.indexing import read
from olympus_core.library.numpy.shapes import broadcast_to, expand_dims, ravel, reshape
from olympus_core.library.promotion import promote_dtypes
from olympus_core.primitives.elementwise import eq_p, le_p, lt_p, ne_p, not_p, or_p
from olympus_core.primitives.reduction import reduce_sum_p
from olympus_core.primitives.shape import iota_p, rev_p
from olympus_core.primitives.sort import sort_p

__all__ = ["argpartition", "argsort", "lexsort", "partition", "searchsorted", "sort"]

_STATIC = ("axis", "kind", "order", "stable", "descending")


def _check_kind(name: str, kind: Any, order: Any) -> None:
    if kind is not None or order is not None:
        raise TraceError(
            f"{name} has no kinds or orders, and got {kind!r} and {order!r}",
            hint="the sort is stable, unless stable=False lets the target choose",
        )
