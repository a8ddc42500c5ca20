"""The text of arrays and the options of printing, which are NumPy's."""

from __future__ import annotations

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.library.operands import operand

#: the options of NumPy, which apply to arrays of both libraries
get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions


def array_repr(
    arr: object,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the text of an array with its type, like `repr`, in lines of a given width.

    precision: the number of digits after the point; suppress_small: print numbers too small for
    these digits as 0.  The defaults are those of `printoptions`.

    Raises DTypeError for a value that is not an array, ConcretizationTypeError for a traced array.

    >>> array_repr(array([1.0, 1e-9]), precision=3, suppress_small=True)
    'Array([1., 0.], dtype=float32)'
    """
    x = operand("array_repr", arr)[0]
    text = np.array_repr(np.asarray(x), max_line_width, precision, suppress_small)
    return text.replace("array(", "Array(", 1) if isinstance(x, Array) else text


def array_str(
    a: object,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the text of an array's elements, like `str`; the arguments are `array_repr`'s.

    >>> array_str(array([1, 2]))
    '[1 2]'
    """
    x = operand("array_str", a)[0]
    return np.array_str(np.asarray(x), max_line_width, precision, suppress_small)
