"""Abstract values: the facts on an array that are known before it has data.

A `ShapedArray` has a shape, a dtype and a weak type.  They are interned: equality is identity, so
an aval hashes as fast as any object and serves as a key in every cache.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.dimensions.expression import SymbolicDim, is_symbolic_dim
from olympus_core.base.errors import (
    ArgumentError,
    DTypeError,
    InconclusiveDimensionOperation,
    ShapeError,
)
from olympus_core.base.manual_axes import ManualAxisType

if TYPE_CHECKING:
    from olympus_core.ir.typing import DTypeLike, ShapeLike

Shape = tuple[int, ...]


class ShapedArray:
    """The type of an array in the IR: shape, dtype, and True if the dtype is weak.

    In the body of a `shard_map` it also has the axes `vma`, along which devices may have different
    values.  An array on a mesh with axes of the type `Explicit` has the sharding `explicit` along
    these.  An array in the memory of the host is `on_host`.  Each combination has one object.  The
    class takes shapes and dtypes in the forms that users write; `shaped` takes canonical ones.

    >>> ShapedArray((2, 3), "float32")
    ShapedArray(float32[2,3])
    """

    __slots__ = (
        "dtype",
        "explicit",
        "is_symbolic",
        "ndim",
        "on_host",
        "shape",
        "size",
        "vma",
        "weak_type",
    )
    _interned: ClassVar[dict[tuple[Any, ...], ShapedArray]] = {}
    #: the function that returns the sharding of a type without a mesh, by the number of dimensions
    unsharded: ClassVar[Callable[[int], Any]]
    #: the function that returns the part of a sharding in the type of an array of a shape
    explicit_of: ClassVar[Callable[[Any, Shape], Any]]
    #: the memory spaces of arrays: that of devices, and that of their host
    spaces: ClassVar[tuple[Any, Any]]
    shape: Shape
    dtype: dtypes.DType
    weak_type: bool
    vma: frozenset[Any]
    #: the sharding along explicit axes, on an AbstractMesh, with an entry for each dimension
    explicit: Any
    #: True if the array is in the memory of the host of a device
    on_host: bool
    ndim: int
    size: int
    #: True if a dimension is an expression in variables
    is_symbolic: bool

    def __new__(
        cls,
        shape: ShapeLike,
        dtype: DTypeLike,
        weak_type: bool = False,
        *,
        sharding: Any = None,
        manual_axis_type: ManualAxisType | None = None,
        memory_space: Any = None,
    ) -> ShapedArray:
        """Return the type; raise ShapeError and DTypeError for an invalid shape or dtype.

        Raises ShardingError for a sharding that does not split the shape evenly.
        """
        size = canonical_shape(shape)
        return shaped(
            size,
            dtypes.canonicalize(dtype),
            bool(weak_type),
            _SAME if manual_axis_type is None else manual_axis_type.varying,
            None if sharding is None else ShapedArray.explicit_of(sharding, size),
            memory_space is not None and memory_space is cls.spaces[1],
        )

    @classmethod
    def _unchecked(
        cls,
        shape: Shape,
        dtype: dtypes.DType,
        weak_type: bool,
        vma: frozenset[Any],
        explicit: Any,
        on_host: bool = False,
    ) -> ShapedArray:
        aval = object.__new__(cls)
        aval.shape, aval.dtype, aval.weak_type, aval.vma = shape, dtype, weak_type, vma
        aval.explicit, aval.on_host = explicit, on_host
        aval.ndim, aval.size = len(shape), math.prod(shape)
        aval.is_symbolic = any(map(is_symbolic_dim, shape))
        return aval

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.long_name()}{weak})"

    def __str__(self) -> str:
        return f"~{self.long_name()}" if self.weak_type else self.long_name()

    def __reduce__(self) -> tuple[Any, ...]:
        return shaped, (
            self.shape,
            self.dtype,
            self.weak_type,
            self.vma,
            self.explicit,
            self.on_host,
        )

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """The manual axes along which devices may have different values, or terms of a sum."""
        if self.explicit is None or not self.explicit.spec.has_sets:
            return ManualAxisType(varying=self.vma)
        spec, manual = self.explicit.spec, frozenset(self.explicit.mesh.manual_axes)
        return ManualAxisType(
            varying=self.vma, unreduced=spec.unreduced & manual, reduced=spec.reduced & manual
        )

    mat = manual_axis_type

    @property
    def sharding(self) -> Any:
        """The sharding along explicit axes of a mesh; on an empty mesh if there are none."""
        if self.explicit is None or not self.explicit.mesh.has_explicit_axes:
            return ShapedArray.unsharded(self.ndim)
        return self.explicit

    @property
    def memory_space(self) -> Any:
        """The memory of the array: `memory.Space.Device`, or `memory.Space.Host`."""
        return self.spaces[self.on_host]

    def with_memory(self, on_host: bool) -> ShapedArray:
        """Return the same type in the memory of the host, or of a device."""
        if self.on_host is on_host:
            return self
        return shaped(self.shape, self.dtype, self.weak_type, self.vma, self.explicit, on_host)

    def short_name(self) -> str:
        """Return the type as the IR prints it: `f32[8,128]`, or `f32[8@data,128]`."""
        return f"{dtypes.short_name(self.dtype)}{self._memory}[{self._dimensions()}]{self._axes()}"

    def long_name(self) -> str:
        """Return the type as messages to the user have it: `float32[8,128]`."""
        return f"{dtypes.long_name(self.dtype)}{self._memory}[{self._dimensions()}]{self._axes()}"

    @property
    def _memory(self) -> str:
        return "<host>" if self.on_host else ""

    def _dimensions(self) -> str:
        sizes = map(str, self.shape)
        if self.explicit is None:
            return ",".join(sizes)
        return ",".join(map(_dimension_text, sizes, self.explicit.spec.partitions))

    def _axes(self) -> str:
        """Return the text of the varying, unreduced and reduced axes: `{V:x, U:(y,z)}`."""
        spec = None if self.explicit is None else self.explicit.spec
        if not self.vma and not (spec is not None and spec.has_sets):
            return ""
        sets = {"V": sorted(self.vma, key=str)}
        if spec is not None:
            names = self.explicit.mesh.axis_names
            sets |= {"U": [n for n in names if n in spec.unreduced]}
            sets |= {"R": [n for n in names if n in spec.reduced]}
        texts = [(k, ",".join(map(str, v)), len(v)) for k, v in sets.items() if v]
        return f"{{{', '.join([f'{k}:({t})' if n > 1 else f'{k}:{t}' for k, t, n in texts])}}}"

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """Return the text of shape and dtype: `float32[8,128]`, or `f32[8,128]`.

        With `mesh_axis_types`, it ends in the names of the mesh's axes by their types.
        """
        text = self.short_name() if short_dtypes else self.long_name()
        mesh = self.sharding.mesh if mesh_axis_types else None
        return text if mesh is None or mesh.empty else text + mesh.type_text()

    def strip_weak_type(self) -> ShapedArray:
        """Return the same type, not weak."""
        return self.strip_weak()

    def strip_weak(self) -> ShapedArray:
        """Return the same type, not weak."""
        if not self.weak_type:
            return self
        return shaped(self.shape, self.dtype, False, self.vma, self.explicit, self.on_host)

    def to_tangent_aval(self) -> ShapedArray:
        """Return the type of tangents: of dtype float0 for integers and bools."""
        if dtypes.kind(self.dtype) in "fcV":
            return self
        return shaped(self.shape, dtypes.float0)

    def without_sharding(self) -> ShapedArray:
        """Return the same type, without a sharding along explicit axes."""
        if self.explicit is None:
            return self
        return shaped(self.shape, self.dtype, self.weak_type, self.vma, None, self.on_host)

    @property
    def is_whole(self) -> bool:
        """True if no explicit axis splits it, and none is unreduced or reduced."""
        if self.explicit is None:
            return True
        spec = self.explicit.spec
        return not spec.has_sets and all(e is None for e in spec.partitions)

    def is_same_as(self, other: ShapedArray) -> bool:
        """Return True for equal types; a sharding that splits nothing equals none."""
        if self is other:
            return True
        return (
            self.is_whole and other.is_whole and self.without_sharding() is other.without_sharding()
        )

    def with_sharding(self, explicit: Any) -> ShapedArray:
        """Return the same type with another sharding along explicit axes; None for none."""
        if explicit is self.explicit:
            return self
        return shaped(self.shape, self.dtype, self.weak_type, self.vma, explicit, self.on_host)

    def with_cotangent_sharding(self) -> ShapedArray:
        """Return the same type, with unreduced axes for reduced ones, and the other way round."""
        if self.explicit is None or not self.explicit.spec.has_sets:
            return self
        return self.with_sharding(self.explicit.update(spec=self.explicit.spec.of_cotangent))

    def without_axis(self, axis: int) -> ShapedArray:
        """Return the type of an array without a dimension."""
        aval = self.update(shape=self.shape[:axis] + self.shape[axis + 1 :])
        if self.explicit is None:
            return aval
        spec = self.explicit.spec.partitions
        return aval.with_sharding(self.explicit.with_partitions(spec[:axis] + spec[axis + 1 :]))

    def with_axis(self, axis: int, size: int, entry: Any = None) -> ShapedArray:
        """Return the type of an array with one more dimension, split along the axes `entry`."""
        aval = self.update(shape=(*self.shape[:axis], size, *self.shape[axis:]))
        if self.explicit is None:
            return aval
        spec = self.explicit.spec.partitions
        return aval.with_sharding(
            self.explicit.with_partitions((*spec[:axis], entry, *spec[axis:]))
        )

    def update(
        self,
        shape: Shape | None = None,
        dtype: dtypes.DType | None = None,
        weak_type: bool | None = None,
        vma: frozenset[Any] | None = None,
        *,
        sharding: object = None,
        memory_space: object = None,
    ) -> ShapedArray:
        """Return the same type with some fields replaced.

        Another shape has no sharding, unless `sharding` is given.
        """
        explicit = self.explicit if sharding is None else sharding
        if sharding is None and explicit is not None and shape is not None and shape != self.shape:
            explicit = None
        return shaped(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            self.vma if vma is None else vma,
            explicit,
            self.on_host if memory_space is None else memory_space is self.spaces[1],
        )


#: the axes of a value that is the same on all devices, or of a program without a `shard_map`
_SAME: frozenset[Any] = frozenset()


def shaped(
    shape: Shape,
    dtype: dtypes.DType,
    weak_type: bool = False,
    vma: frozenset[Any] = _SAME,
    explicit: Any = None,
    on_host: bool = False,
) -> ShapedArray:
    """Return the aval of a shape (a tuple of ints), a canonical dtype, and the other fields."""
    key = (shape, dtype, weak_type, vma, explicit, on_host)
    aval = ShapedArray._interned.get(key)
    if aval is None:
        aval = ShapedArray._unchecked(shape, dtype, weak_type, vma, explicit, on_host)
        aval = ShapedArray._interned.setdefault(key, aval)
    return aval


def _dimension_text(size: str, entry: Any) -> str:
    if entry is None:
        return size
    return (
        f"{size}@({','.join(map(str, entry))})" if entry.__class__ is tuple else f"{size}@{entry}"
    )


def as_sequence(x: Any) -> Any:
    """Return an int, or an array without dimensions, in a tuple; a sequence unchanged."""
    single = x.__class__ not in (tuple, list) and hasattr(x, "__index__")
    return (x,) if single and not getattr(x, "shape", ()) else x


#: the words of JAX's error for a shape that is none, which programs match
SHAPE_TERM: Final = "Shapes must be 1D sequences of concrete values of integer type"


def canonical_shape(shape: Any, what: str = "shape") -> Shape:
    """Return `shape` (an int, a sequence or a vector of ints) as a tuple of Python ints >= 0.

    Raises ShapeError, naming `what`, for anything else.
    """
    try:
        result: Shape = tuple(map(operator.index, as_sequence(shape)))
    except InconclusiveDimensionOperation:
        return _symbolic_shape(as_sequence(shape), what)
    except TypeError as error:
        raise ShapeError(
            f"{SHAPE_TERM}, got {value_text(shape)} as {what}",
            hint=getattr(error, "hint", None),  # the hint for a traced array as a size
            location=getattr(error, "location", None),
        ) from None
    if result and min(result) < 0:
        raise ShapeError(f"{what} must have every element be nonnegative, got {result}")
    return result


def dimension(n: Any) -> Any:
    """Return a size as an int, and a symbolic one unchanged; raise TypeError for others.

    >>> dimension(numpy.int32(3))
    3
    """
    return n if n.__class__ is SymbolicDim else operator.index(n)


def _symbolic_shape(shape: Sequence[Any], what: str) -> Shape:
    """Return a shape with symbolic sizes; raise ShapeError for one that is always negative."""
    try:
        result = tuple(map(dimension, shape))
    except TypeError:
        raise ShapeError(f"{SHAPE_TERM}, got {value_text(shape)} as {what}") from None
    for n in result:
        if n.scope.bounds(n)[1] < 0 if isinstance(n, SymbolicDim) else n < 0:
            raise ShapeError(f"{what} must have every element be nonnegative, got {result}")
    return result


# The number of parts of a tuple or list that a message shows.
_SHOWN_PARTS = 8
_rules: dict[type, Callable[[Any], ShapedArray]] = {}


def register_aval(cls: type, rule: Callable[[Any], ShapedArray]) -> None:
    """Register the function that returns the aval of an instance of `cls`, a class of arrays."""
    _rules[cls] = rule


def get_aval(x: Any) -> ShapedArray:
    """Return the aval of an array, tracer, NumPy value, Python scalar, or object like an aval.

    Raises DTypeError for a value that cannot be an array.

    >>> get_aval(array([1, 2]))
    ShapedArray(int32[2])
    """
    rule = _rules.get(x.__class__)
    if rule is not None:
        return rule(x)
    for cls in type(x).__mro__[1:]:
        if cls in _rules:
            refuse_masked(x)
            rule = _rules[type(x)] = _rules[cls]  # the next lookup is direct
            return rule(x)
    if getattr(x, "__jax_array__", None) is not None:
        raise ArgumentError(
            "Triggering __jax_array__() during abstractification is no longer supported: an "
            f"argument is a {type(x).__name__}, and converts itself to an array",
            hint="convert it by olympus.numpy.array(), or register its class as a pytree",
        )
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        dtype = dtypes.canonicalize(x.dtype)
        return shaped(canonical_shape(x.shape), dtype, bool(getattr(x, "weak_type", False)))
    raise DTypeError(
        f"Argument '{x!s:.80}' of type {type(x)} is not a valid JAX type: a value of type "
        f"{type(x).__name__} is not an array"
    )


def self_converted(x: Any) -> Any:
    """Return the array that an object with `__jax_array__` converts itself to; else `x`."""
    convert = getattr(x, "__jax_array__", None)  # it is None for tracers of JAX
    return x if convert is None else convert()


_types: set[type] = set()


def register_visible_type(cls: type) -> None:
    """Register a class of values whose `aval` is a type that only users see."""
    _types.add(cls)


def typeof(x: Any) -> ShapedArray:
    """Return the type of an array, tracer, random key, reference, NumPy value or scalar.

    Raises DTypeError for a value that cannot be an array.

    >>> typeof(array([1, 2]))
    ShapedArray(int32[2])
    """
    if x.__class__ in _types:
        typed: Any = x
        aval: ShapedArray = typed.aval
        return aval
    return get_aval(x)


def value_text(x: Any) -> str:
    """Return the text of a value for messages: an array's type, the class and repr of others.

    The text of a traced array is `a traced array f32[4]`.

    >>> value_text("3e-4"), value_text((2, 3))
    ("a str '3e-4'", '(2, 3)')
    """
    if isinstance(x, bool | int | float | complex) or x is None:
        return f"{x!r:.80}"
    if x.__class__ in (tuple, list):
        parts = ", ".join(map(value_text, x[:_SHOWN_PARTS]))
        text = parts + (", ..." if len(x) > _SHOWN_PARTS else "")
        return f"[{text}]" if x.__class__ is list else f"({text}{',' if len(x) == 1 else ''})"
    if isinstance(aval := getattr(x, "aval", None), ShapedArray):
        return f"{'a traced' if hasattr(x, 'owner') else 'an'} array {aval.short_name()}"
    if isinstance(x, np.ndarray):
        return f"a NumPy array {x.dtype.name}[{','.join(map(str, x.shape))}]"
    name = type(x).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return f"{article} {name} {x!r:.80}"


def refuse_masked(x: Any) -> None:
    """Raise ArgumentError for a masked array of NumPy: its mask would be lost."""
    if isinstance(x, np.ndarray) and hasattr(x, "filled"):
        raise ArgumentError(
            "numpy masked arrays are not supported as direct inputs to JAX functions. Use "
            "arr.filled() to convert the value to a standard numpy array: its mask would be lost",
            hint="pass x.filled(value), or the arrays x.data and x.mask",
        )


def shape_of(x: Any) -> Shape:
    """Return the shape of an array or scalar, without converting it."""
    shape = getattr(x, "shape", None)
    if isinstance(shape, tuple):
        return shape
    if x.__class__ is SymbolicDim:
        return ()
    return np.shape(x) if (array := self_converted(x)) is x else shape_of(array)


def _numpy_aval(x: Any) -> ShapedArray:
    return shaped(x.shape, dtypes.canonicalize(x.dtype))


def _scalar_rule(scalar: type) -> Callable[[Any], ShapedArray]:
    def rule(x: Any) -> ShapedArray:
        return shaped((), dtypes.scalar_dtype(scalar), scalar is not bool)

    return rule


for _cls in (bool, int, float, complex):
    register_aval(_cls, _scalar_rule(_cls))
register_aval(SymbolicDim, _scalar_rule(int))
register_aval(np.ndarray, _numpy_aval)
register_aval(np.generic, _numpy_aval)
