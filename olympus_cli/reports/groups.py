"""Groups of similar table rows, each an expandable row: the copies of one kernel, for example."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from olympus.analysis import KernelEstimate, LiveBuffer

_R = TypeVar("_R")
_NUMBER = re.compile(r"\.\d+$")
_NUMBERS = re.compile(r"\d+")


def plain_name(name: str) -> str:
    """Return the name of an instruction without the number that distinguishes its copies.

    >>> plain_name("ynn_fusion.12"), plain_name("dot")
    ('ynn_fusion', 'dot')
    """
    return _NUMBER.sub("", name)


def groups(rows: Iterable[_R], key: Callable[[_R], Hashable]) -> list[list[_R]]:
    """Return the rows grouped by key, in the order of the first of each."""
    by_key: dict[Hashable, list[_R]] = {}
    for row in rows:
        by_key.setdefault(key(row), []).append(row)
    return [*by_key.values()]


def kernel_groups(kernels: Iterable[KernelEstimate]) -> list[list[KernelEstimate]]:
    """Return the kernels grouped by name, operation, line and bound, the slowest group first."""
    kernel_lists = groups(kernels, lambda k: (plain_name(k.name), k.operation, k.line, k.bound))
    return sorted(kernel_lists, key=lambda group: -sum(kernel.seconds for kernel in group))


def buffer_text(group: Sequence[LiveBuffer]) -> str:
    """Return the name of an argument or the operation of a buffer; for several, without numbers.

    >>> buffer_text([weights_of_layer_0, weights_of_layer_1])
    "params['layers'][*]['w']"
    """
    first = group[0]
    text = first.name if first.kind == "argument" else first.operation or first.name
    return _NUMBERS.sub("*", text) if len(group) > 1 and first.kind == "argument" else text


def buffer_groups(buffers: Sequence[LiveBuffer]) -> list[list[LiveBuffer]]:
    """The buffers of one type, kind, operation and line together, the largest group first.

    Arguments and results differ in numbers of their names alone: those of a layer, for example.
    """

    def key(buffer: LiveBuffer) -> Hashable:
        return buffer.dtype, buffer.shape, buffer.kind, buffer_text([buffer] * 2), buffer.line

    return sorted(groups(buffers, key), key=lambda group: -sum(b.bytes for b in group))
