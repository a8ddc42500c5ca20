"""Checks of the user: `check`, `debug_check` and `check_error`."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.dtypes import kind
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.ir.primitive import op
from olympus_core.library.checkify.errors import Error, FailedCheck, Site, bind_check
from olympus_core.transforms import data


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Require that a scalar bool is true when the program runs.

    In a function that `checkify` transforms, the failure becomes a part of its result.  Outside of
    a traced function, it raises CheckError immediately.  `msg` is a format of `str.format` for the
    arrays of the other arguments.

    Raises CheckError (a ValueError) for a failure outside of a traced function, ArgumentError (a
    TypeError) for a `pred` that is not a scalar bool or arguments that are not arrays, and
    TransformError (a ValueError) when a traced function is not transformed by `checkify`.

    >>> checkify(lambda x: check(x > 0, "x is {}", x))(array(-1.0))[0].get()
    'x is -1.0 (`check` failed)'
    """
    try:
        aval = get_aval(pred)
        is_scalar_bool = aval.shape == () and kind(aval.dtype) == "b"
    except DTypeError:
        is_scalar_bool = False
    if not is_scalar_bool:
        raise ArgumentError(f"check takes a scalar pred as argument, got {pred!r:.80}")
    leaves, structure = data.flatten_data((fmt_args, fmt_kwargs))
    for x in leaves:
        if not hasattr(x, "dtype") or not hasattr(x, "shape"):
            raise ArgumentError(
                "Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{x!r:.80} of type {type(x)}."
            )
    string.Formatter().vformat(msg, *tree.unflatten(structure, [_Anything()] * len(leaves)))
    text = functools.partial(_text, msg, structure)
    site = Site(FailedCheck, text, [get_aval(x) for x in leaves])
    code = op.select_n(pred, np.int32(1), np.int32(0))
    bind_check(code, [leaves], (site,), is_debug=debug)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Check as `check` does where `checkify` transforms the function, and not at all elsewhere.

    >>> debug_check(array(False), "this is not raised")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raise CheckError if an error is one; in a traced function, check it as `check` does.

    >>> check_error(checkify(f)(x)[0])
    """
    if not isinstance(error, Error):
        raise ArgumentError(f"check_error takes an Error as argument, got {error!r:.80}")
    error.throw()


def _text(msg: str, structure: tree.PyTreeDef, arrays: Sequence[Any]) -> str:
    args, kwargs = tree.unflatten(structure, arrays)
    return f"{msg.format(*args, **kwargs)} (`check` failed)"


class _Anything:
    """A value of every format: in place of an array that has no value yet."""

    def __format__(self, format_spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> _Anything:
        return self

    def __getitem__(self, index: Any) -> _Anything:
        return self
