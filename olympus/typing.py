"""Types for annotations: what functions take, as `help` shows it.

- `ArrayLike`: an array.  `ArraySequence`: several, or the rows of one.  `NestedArrayLike`: an
  array, or nested lists or tuples of numbers.
- `DTypeLike`, `ShapeLike`: a dtype, and a shape.  `Axis`: one axis, several, or None for all.
- `IndexLike`: what `x[...]` takes.
- `KeyArray`: typed random keys.  `KeyLike`: what is taken for keys.  `ArrayOrKeys`, `ArraysOrKeys`:
  what functions take that move elements, and give keys of keys.
"""

from olympus_core.library.axes import Axis as Axis
from olympus_core.library.random.keys import KeyArray as KeyArray
from olympus_core.library.random.keys import KeyLike as KeyLike
from olympus_core.library.typing import ArrayLike as ArrayLike
from olympus_core.library.typing import ArrayOrKeys as ArrayOrKeys
from olympus_core.library.typing import ArraySequence as ArraySequence
from olympus_core.library.typing import ArraysOrKeys as ArraysOrKeys
from olympus_core.library.typing import DTypeLike as DTypeLike
from olympus_core.library.typing import IndexLike as IndexLike
from olympus_core.library.typing import NestedArrayLike as NestedArrayLike
from olympus_core.library.typing import ShapeLike as ShapeLike
