"""Types for annotations: what is taken for an array, and for a dtype."""

from olympus_core.library.typing import ArrayLike as ArrayLike
from olympus_core.library.typing import DTypeLike as DTypeLike
