"""The view of an operation for cost rules, independent of the program's dialect."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple


class Tensor(NamedTuple):
    """The type of an operand or result: a dtype by NumPy's long name, and the sizes.

    >>> Tensor("float32", (2, 3)).bytes
    24
    """

    dtype: str
    sizes: tuple[int, ...]

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.sizes)

    @property
    def bytes(self) -> int:
        """The bytes of all elements; an element of less than a byte takes one, as in XLA."""
        return self.elements * max(1, bits(self.dtype) // 8)

    @property
    def is_complex(self) -> bool:
        """True if the elements are complex."""
        return self.dtype.startswith("complex")

    @property
    def is_float(self) -> bool:
        """True if the elements are floating-point or complex."""
        return self.dtype.startswith(("float", "bfloat", "complex"))


@functools.lru_cache(maxsize=256)
def bits(dtype: str) -> int:
    """Return the bits of an element; 0 for a type that is not an array, such as a token."""
    match = re.match(r"(?:u?int|b?float|complex)(\d+)", dtype)
    return int(match.group(1)) if match else 8 if dtype == "bool" else 0


class WindowAxis(NamedTuple):
    """One axis of the window of a convolution or of a reduction by windows."""

    size: int
    stride: int = 1
    padding: tuple[int, int] = (0, 0)
    base_dilation: int = 1
    window_dilation: int = 1

    def taps(self, base: int, outputs: int) -> int:
        """Return the number of pairs (window element, output) that read an array element.

        Padding and the holes of a dilated array are excluded, as XLA excludes them from the cost of
        a convolution (`HloCostAnalysis::GetConvolutionFlops`).

        >>> WindowAxis(3, padding=(1, 1)).taps(8, 8)
        22
        """
        if self.base_dilation == 1:
            return sum(
                _steps(base + self.padding[0] - k * self.window_dilation, self.stride, outputs)
                - _steps(self.padding[0] - k * self.window_dilation, self.stride, outputs)
                for k in range(self.size)
            )
        return sum(self._dilated(k * self.window_dilation, base, outputs) for k in range(self.size))

    def _dilated(self, offset: int, base: int, outputs: int) -> int:
        """Return the number of outputs whose element at `offset` is not in padding or holes."""
        last = (base - 1) * self.base_dilation
        period = self.base_dilation // math.gcd(self.stride, self.base_dilation)
        low = self.padding[0]
        for first in range(min(period, outputs)):  # the positions on elements are periodic
            if (first * self.stride + offset - low) % self.base_dilation == 0:
                start = max(first, _next_at(first, period, -(-(low - offset) // self.stride)))
                stop = min(outputs - 1, (last + low - offset) // self.stride)
                return max(0, (stop - start) // period + 1)
        return 0


def _steps(limit: int, stride: int, outputs: int) -> int:
    """Return the number of 0, stride, 2 stride, ..., `outputs` of them, below `limit`."""
    return min(outputs, max(0, -(-limit // stride)))


def _next_at(first: int, period: int, least: int) -> int:
    """Return the first of `first`, `first + period`, ... that is not below `least`."""
    return first + max(0, -(-(least - first) // period)) * period


class Counts(NamedTuple):
    """The cost of one execution; `matmul` is that of products, by the operands' dtype."""

    flops: int = 0
    transcendentals: int = 0
    bytes: int = 0
    collective_bytes: int = 0
    matmul: Mapping[str, int] = MappingProxyType({})

    def moving(self, size: int) -> Counts:
        """Return the same counts with `size` bytes read and written."""
        return self._replace(bytes=size)


NOTHING = Counts()


@dataclass(frozen=True, slots=True)
class OperationView:
    """A view of an operation, independent of its dialect.

    Attributes that rules read, if an operation has them:
      lhs_contracting: the summed axes of the left operand of a product, a tuple.
      window: a WindowAxis for each axis; of a convolution for each spatial axis.
      input_spatial, output_spatial: the spatial axes of a convolution's array and result.
      kernel_features: the axis of the kernel that has the input features of a group.
      fft_length: a tuple; fft_type: "FFT", "IFFT", "RFFT" or "IRFFT".
      target: the name of a custom call; options: its options by name, letters as codes.
      equation: the text of an einsum.

    `bodies` are the costs of one application to scalars of each function of the operation.

    >>> OperationView("add", (Tensor("float32", (8,)),) * 2, (Tensor("float32", (8,)),))
    OperationView(name='add', ...)
    """

    name: str
    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bodies: tuple[Counts, ...] = ()

    @property
    def moved(self) -> int:
        """The bytes of all operands and results."""
        return sum([t.bytes for t in self.operands]) + sum([t.bytes for t in self.results])

    @property
    def has_floats(self) -> bool:
        """True if an operand or result is floating-point or complex."""
        return any(t.is_float for t in (*self.operands, *self.results))

    @property
    def is_complex(self) -> bool:
        """True if an operand or result is complex."""
        return any(t.is_complex for t in (*self.operands, *self.results))
