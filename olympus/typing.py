"""Types for annotations: what is taken for an array, a dtype and a shape."""

from olympus_core.library.typing import ArrayLike as ArrayLike
from olympus_core.library.typing import DTypeLike as DTypeLike
from olympus_core.library.typing import ShapeLike as ShapeLike
