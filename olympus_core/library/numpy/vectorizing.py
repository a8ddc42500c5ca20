"""`numpy.vectorize`: a function of small arrays enters, one of arrays of these leaves.

The leading axes of the arguments are broadcast against each other; each of them is a `vmap`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from olympus_core import tree
from olympus_core.avals import Shape, shape_of
from olympus_core.errors import ArgumentError, ShapeError
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.shapes import expand_dims, squeeze
from olympus_core.library.promotion import broadcast_shapes, check_arrays
from olympus_core.source import function_name
from olympus_core.transforms.vmapping import vmap

__all__ = ["vectorize"]

Core = tuple[str, ...]  # the names of the core dimensions of an argument or a result

_NAME = r"[A-Za-z_]\w*|\d+"
_CORE = rf"\((?:{_NAME})?(?:,(?:{_NAME}))*\)"
_SIGNATURE = re.compile(rf"(?:{_CORE}(?:,{_CORE})*)?->{_CORE}(?:,{_CORE})*")


def _parsed(signature: str) -> tuple[list[Core], list[Core]]:
    """The core dimensions of the arguments and of the results."""
    text = re.sub(r"\s", "", signature)
    if not _SIGNATURE.fullmatch(text):
        raise ArgumentError(
            f"{signature!r} is not a signature of vectorize",
            hint="write one such as '(m,n),(n)->(m)'",
        )
    sides = [
        [tuple(re.findall(_NAME, core)) for core in re.findall(r"\([^)]*\)", side)]
        for side in text.split("->")
    ]
    return sides[0], sides[1]


def _bind_sizes(sizes: dict[str, int], core: Core, shape: Shape, what: str) -> None:
    """Record the sizes of named dimensions; raises ShapeError where they do not agree."""
    if len(shape) != len(core):
        raise ShapeError(
            f"vectorize: {what} needs the core dimensions ({','.join(core)}), and has the shape "
            f"{shape}"
        )
    for name, size in zip(core, shape, strict=True):
        known = sizes.setdefault(name, int(name) if name.isdigit() else size)
        if known != size:
            raise ShapeError(
                f"vectorize: the dimension {name!r} of {what} has the size {size}, and elsewhere "
                f"{known}"
            )


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """The function of arrays that applies `pyfunc` to all of their elements, broadcast.

    excluded: the positions and names of arguments that are passed as they are.  signature: the
    core dimensions of the arguments and of the results, such as "(m,n),(n)->(m)": the last axes,
    which `pyfunc` gets and returns; none unless given.  Other arguments are arrays.

    Raises ArgumentError for a wrong signature or exclusion; when it is called, ArgumentError for
    another number of arguments or results, and ShapeError for shapes that do not fit.

    >>> product = vectorize(dot, signature="(n),(n)->()")
    >>> product(ones((4, 3)), ones(3))
    Array([3., 3., 3., 3.], dtype=float32)
    """
    if not isinstance(excluded, Collection) or any(
        not isinstance(e, (int, str)) or (isinstance(e, int) and e < 0) for e in excluded
    ):
        raise ArgumentError(
            f"vectorize needs positions >= 0 and names as excluded, and got {excluded!r}"
        )
    cores = None if signature is None else _parsed(signature)

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        held = {i: x for i, x in enumerate(args) if i in excluded}
        held_names = {k: v for k, v in kwargs.items() if k in excluded}
        names = [k for k in kwargs if k not in held_names]
        values = [x for i, x in enumerate(args) if i not in held]
        count = len(values)

        def call(*given: Any) -> Any:
            rest = iter(given[:count])
            every = [held[i] if i in held else next(rest) for i in range(len(args))]
            named = dict(zip(names, given[count:], strict=True))
            return pyfunc(*every, **held_names, **named)

        call.__name__ = function_name(pyfunc)
        return _applied(call, [*values, *(kwargs[k] for k in names)], cores)

    return vectorized


def _applied(
    call: Callable[..., Any], args: list[Any], cores: tuple[list[Core], list[Core]] | None
) -> Any:
    check_arrays("vectorize", *args)
    arrays = [asarray(x) for x in args]
    ins = [()] * len(arrays) if cores is None else cores[0]
    if len(ins) != len(arrays):
        raise ArgumentError(
            f"vectorize: the signature has {len(ins)} arguments, and {len(arrays)} were given"
        )
    sizes: dict[str, int] = {}
    loops: list[Shape] = []
    for i, (x, core) in enumerate(zip(arrays, ins, strict=True)):
        split = max(0, x.ndim - len(core))
        _bind_sizes(sizes, core, x.shape[split:], f"argument {i}")
        loops.append(x.shape[:split])
    checked = call if cores is None else _checked(call, cores[1], sizes)
    return _mapped(checked, arrays, loops)


def _checked(call: Callable[..., Any], outs: list[Core], sizes: dict[str, int]) -> Any:
    """The function, whose results have the shapes that the signature says."""

    def checked(*args: Any) -> Any:
        found = call(*args)
        results = found if isinstance(found, tuple) else (found,)
        if isinstance(found, list) or len(results) != len(outs):
            raise ArgumentError(
                f"vectorize: the signature has {len(outs)} results, and {function_name(call)} "
                f"returned {len(results)}"
            )
        known = dict(sizes)
        for i, (x, core) in enumerate(zip(results, outs, strict=True)):
            _bind_sizes(known, core, shape_of(x), f"result {i}")
        return found

    return checked


def _mapped(call: Callable[..., Any], arrays: list[Any], loops: Sequence[Shape]) -> Any:
    """The function mapped over the loop axes, from the first; those of size 1 are repeated."""
    shape = broadcast_shapes(*loops) if loops else ()
    mapped, lone = call, []
    present = [[len(shape) - len(s) + i for i, n in enumerate(s) if n != 1] for s in loops]
    squeezed = [
        squeeze(x, tuple(i for i, n in enumerate(s) if n == 1))
        for x, s in zip(arrays, loops, strict=True)
    ]
    for axis in reversed(range(len(shape))):
        in_axes = tuple(0 if axis in axes else None for axes in present)
        if all(a is None for a in in_axes):
            lone.append(axis)
        else:
            mapped = vmap(mapped, in_axes)
    found = mapped(*squeezed)
    return tree.map(lambda x: expand_dims(x, tuple(lone)), found) if lone else found
