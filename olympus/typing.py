"""Types for annotations: what is taken for an array, a dtype, a shape and a random key."""

from olympus_core.library.random.keys import KeyArray as KeyArray
from olympus_core.library.random.keys import KeyLike as KeyLike
from olympus_core.library.typing import ArrayLike as ArrayLike
from olympus_core.library.typing import DTypeLike as DTypeLike
from olympus_core.library.typing import ShapeLike as ShapeLike
