"""Types for annotations of arguments, as `help` shows them.

- `ArrayLike`: an array.  `ArraySequence`: several, or the rows of one.  `NestedArrayLike`: an
  array, or nested lists or tuples of numbers.
- `DTypeLike`, `ShapeLike`: a dtype, and a shape.  `Axis`: one axis, several, or None for all.
- `IndexLike`: the index in `x[...]`.
- `KeyArray`: typed random keys.  `KeyLike`: typed or raw keys.  `ArrayOrKeys`, `ArraysOrKeys`:
  the arguments of functions that move elements, which return keys for keys.
"""

from olympus_core.ir.typing import ArrayLike as ArrayLike
from olympus_core.ir.typing import ArrayOrKeys as ArrayOrKeys
from olympus_core.ir.typing import ArraySequence as ArraySequence
from olympus_core.ir.typing import ArraysOrKeys as ArraysOrKeys
from olympus_core.ir.typing import DTypeLike as DTypeLike
from olympus_core.ir.typing import IndexLike as IndexLike
from olympus_core.ir.typing import NestedArrayLike as NestedArrayLike
from olympus_core.ir.typing import ShapeLike as ShapeLike
from olympus_core.library.axes import Axis as Axis
from olympus_core.library.random.keys import KeyArray as KeyArray
from olympus_core.library.random.keys import KeyLike as KeyLike
