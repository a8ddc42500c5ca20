"""Descriptions of arrays, which users pass in place of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import canonical_shape
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.base.manual_axes import ManualAxisType

if TYPE_CHECKING:
    from olympus_core.ir.typing import DTypeLike, ShapeLike


class _Description(type):
    """The class of ShapeDtypeStruct: a description of random keys is an instance too."""

    def __instancecheck__(cls, x: Any) -> bool:
        if super().__instancecheck__(x):
            return True
        keys: Any = x
        return x.__class__ is tree.key_class and super().__instancecheck__(keys.data)


class ShapeDtypeStruct(metaclass=_Description):
    """A description of an array: its shape, dtype and sharding, without data.

    A program is lowered for `sharding`; without it the program chooses.

    >>> ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    #: False: references have no description
    is_ref: ClassVar[bool] = False
    __slots__ = ("_layout", "dtype", "manual_axis_type", "shape", "sharding", "weak_type")
    #: the function that returns the format of arrays, of a layout and a sharding or None
    formatted: ClassVar[Callable[[Any, Any], Any]]

    def __new__(cls, shape: Any, dtype: Any, **options: Any) -> Any:
        if hasattr(dtype, "described"):  # of random keys: their words are described
            return dtype.described(cls, shape, **options)
        return super().__new__(cls)

    def __init__(
        self,
        shape: ShapeLike,
        dtype: DTypeLike,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: ManualAxisType | None = None,
        is_ref: bool = False,
    ) -> None:
        if dtype is None:
            raise ArgumentError("ShapeDtypeStruct: dtype must be specified.")
        if is_ref:
            raise UnsupportedError(
                "ShapeDtypeStruct describes arrays, and is_ref=True describes a reference",
                hint="pass a reference: olympus.new_ref(array)",
            )
        self.shape = canonical_shape(shape)
        self.dtype = dtypes.dtype(dtype)
        self.weak_type = weak_type
        if not isinstance(manual_axis_type, ManualAxisType | None):
            raise ArgumentError(
                "`manual_axis_type` argument passed to ShapeDtypeStruct should be of type "
                f"ManualAxisType, and is {manual_axis_type!r:.80}"
            )
        self.manual_axis_type = manual_axis_type
        if hasattr(sharding, "to_sharding"):
            is_format = getattr(sharding, "layout", None) is not None
            options = {"is_concrete": True} if is_format else {}
            sharding = sharding.to_sharding("a ShapeDtypeStruct", **options)
        if sharding is not None and not hasattr(sharding, "check_shape"):
            raise ArgumentError(
                "sharding should be an instance of `jax.sharding.Sharding`, "
                "`jax.sharding.PartitionSpec` or `jax.experimental.layout.Format`. Got "
                f"{sharding!s:.80} of type {type(sharding)}: ShapeDtypeStruct needs it, or None"
            )
        if sharding is not None:
            sharding.check_compatible_aval(self.shape)
        self._layout = None if sharding is None else sharding.layout
        self.sharding = sharding if self._layout is None else sharding.with_layout(None)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.shape, self.dtype  # what a pickled description is made with

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Return the description of an array, or of a value with a shape and a dtype.

        >>> ShapeDtypeStruct.like(np.zeros((2, 3), "float32"))
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        sharding = getattr(x, "sharding", None)
        if sharding is not None and not getattr(x, "committed", True):
            sharding = None
        weak = getattr(x, "weak_type", False)
        return cls(x.shape, x.dtype, sharding=sharding, weak_type=weak)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return the description with another shape, dtype or other field of the constructor.

        >>> ShapeDtypeStruct((2, 3), "float32").update(shape=(4,))
        ShapeDtypeStruct(shape=(4,), dtype=float32)
        """
        own = {name: getattr(self, name) for name in self.__slots__ if name != "_layout"}
        return ShapeDtypeStruct(**own | {"sharding": self.laid_sharding} | changes)

    @property
    def laid_sharding(self) -> Any:
        """The sharding with the requested layout in memory."""
        return self.sharding if self._layout is None else self.sharding.with_layout(self._layout)

    @property
    def format(self) -> Any:
        """The `Format` of the array: its layout and its sharding, None for open ones."""
        return ShapeDtypeStruct.formatted(self._layout, self.sharding)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object: it has no dimensions")
        return self.shape[0]

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.weak_type, self.laid_sharding, self.manual_axis_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        where = "" if self.sharding is None else f", sharding={self.sharding}"
        where += "" if self._layout is None else f", format={self._layout}"
        dtype = dtypes.long_name(self.dtype)
        axes = self.manual_axis_type
        manual = "" if axes is None else f", manual_axis_type={axes}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtype}{where}{weak}{manual})"
