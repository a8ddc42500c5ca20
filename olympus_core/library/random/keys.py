"""Random keys: created from seeds, split, and combined with data.

A key is a pair of uint32 words, or four of them for the implementations `rbg` and `unsafe_rbg`.
It has two forms, and every function here returns the form that it gets: a *raw* key, an array of
shape (2,) or (4,), and a *typed* one, a `KeyArray`.  Raw keys belong to the default implementation
if they have its number of words, else to `threefry2x32` or, of four words, to `rbg`.  A
KeyArray is a container of the raw words, so transformations, loops and containers accept it like
any tree of arrays.  Functions that move elements (`library/structural.py`) apply to it as to an
array; functions that compute raise an error.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np

from olympus_core.arrays.device_array import DeviceArray, Shard
from olympus_core.arrays.types_on_meshes import visible_type
from olympus_core.base import dtypes, tree
from olympus_core.base.avals import (
    Shape,
    ShapedArray,
    canonical_shape,
    get_aval,
    register_visible_type,
    shaped,
    value_text,
)
from olympus_core.base.context import state
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import (
    ArgumentError,
    DTypeError,
    IndexingError,
    ShapeError,
    UnsupportedError,
)
from olympus_core.base.key_options import refuse_raw_key
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, ShapeLike
from olympus_core.library.numpy.creation import array
from olympus_core.library.numpy.indexing import taking
from olympus_core.library.numpy.manipulation import shapes, transposing, views
from olympus_core.library.promotion import keys_term
from olympus_core.library.random.implementations import (
    IMPLEMENTATIONS,
    THREEFRY,
    Implementation,
    KeyFunctions,
)
from olympus_core.library.structural import key_classes, structural
from olympus_core.placement.sharding import NamedSharding
from olympus_core.transforms import data

if TYPE_CHECKING:
    from olympus_core.library.explicit import OutSharding
    from olympus_core.xla import Device

UINT32 = np.dtype("uint32")
_ONE_KEY = shaped((2,), UINT32)


_counter = itertools.count()

#: operators that keys do not have and the functions that messages name; 8 are also reflected
_OPERATORS: Final = {
    "__add__": "add",
    "__sub__": "sub",
    "__mul__": "mul",
    "__truediv__": "div",
    "__floordiv__": "floor_divide",
    "__mod__": "remainder",
    "__matmul__": "matmul",
    "__pow__": "pow",
    "__divmod__": "divmod",
    "__lt__": "lt",
    "__le__": "le",
    "__gt__": "gt",
    "__ge__": "ge",
    "__neg__": "neg",
    "__abs__": "abs",
    "__invert__": "not",
    "__round__": "round",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__lshift__": "left_shift",
    "__rshift__": "right_shift",
}


class KeyDType:
    """The dtype of a KeyArray, such as `key<fry>` of Threefry-2x32, or `key<rbg>`.

    `functions` are those of an implementation without primitives, as one that a user defines.
    """

    def __init__(self, impl: str = THREEFRY) -> None:
        tag, self.key_shape, self.functions, self.is_defined = IMPLEMENTATIONS[impl]
        self.type = dtypes.prng_key
        self.impl = impl
        self.name = f"key<{tag}>"
        self.words = math.prod(self.key_shape)
        self.itemsize = 4 * self.words

    def holding(self, words: Any) -> KeyArray:
        """Return keys of this dtype with these words."""
        return KeyArray(words, self.impl)

    def described(
        self, struct: Callable[..., Any], shape: ShapeLike, *, sharding: Any = None
    ) -> KeyArray:
        """Return keys of this dtype, with a description of class `struct` as their words."""
        axes = canonical_shape(shape)
        if isinstance(sharding, NamedSharding):
            spec = sharding.spec.partitions
            sharding = sharding.update(spec=(*spec, *[None] * (len(axes) + 1 - len(spec))))
        return self.holding(struct((*axes, self.words), UINT32, sharding=sharding))

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDType) and self.impl == other.impl

    def __hash__(self) -> int:
        return hash(self.impl)


_DTYPES = {impl: KeyDType(impl) for impl in IMPLEMENTATIONS}
for _dtype in _DTYPES.values():
    dtypes.register_name(_dtype, _dtype.name)


def define_implementation(name: str, tag: str, functions: KeyFunctions) -> KeyDType:
    """Return the dtype of keys of a new implementation; `tag` is its name in the dtype."""
    impl = f"{name} {next(_counter)}"
    IMPLEMENTATIONS[impl] = Implementation(tag, functions.key_shape, functions, True)
    _DTYPES[impl] = dtype = KeyDType(impl)
    dtypes.register_name(dtype, dtype.name)
    return dtype


@structural()
def _read(keys: Any, index: Any, options: dict[str, Any]) -> KeyArray:
    read: KeyArray = keys.at[index].get(**options)
    return read


@structural(0, 2)
def _written(keys: Any, index: Any, values: Any, options: dict[str, Any]) -> KeyArray:
    written: KeyArray = keys.at[index].set(values, **options)
    return written


@structural(0, 1, every=True)
def _equal(keys: Any, other_keys: Any) -> Any:
    return keys == other_keys


class _KeysAt:
    """The result of `keys.at` and, with an index, of `keys.at[index]`."""

    __slots__ = ("index", "keys")

    def __init__(self, keys: KeyArray, index: Any = ()) -> None:
        self.keys = keys
        self.index = index

    def __getitem__(self, index: Any) -> _KeysAt:
        return _KeysAt(self.keys, index)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # a protocol of Python
            raise AttributeError(name)
        raise DTypeError(
            f"Cannot interpret '{self.keys.dtype}' as a data type: keys have no '{name}'"
        )

    def get(self, **options: Any) -> KeyArray:
        """Return the keys at the index; the options are those of arrays."""
        return _read(self.keys, self.index, options)

    def set(self, values: KeyArray, **options: Any) -> KeyArray:
        """Return the keys with those at the index replaced; the options are those of arrays."""
        return _written(self.keys, self.index, values, options)

    def apply(self, func: Callable[[KeyArray], KeyArray], **options: Any) -> KeyArray:
        """Return the keys with `func` applied to those at the index."""
        return self.set(func(self.get(**options)), **options)


class KeyArray:
    """An array of random keys: `data` has their words along a last axis of its own, flat.

    Indexing, iteration and the methods that move elements are those of an array of keys.
    """

    __slots__ = ("data", "impl")
    __hash__ = None  # type: ignore[assignment]  # keys compare element by element

    def __init__(self, data: Any, impl: str = THREEFRY) -> None:
        self.data = data
        self.impl = impl

    def with_data(self, data: Array) -> KeyArray:
        """Return keys of the same implementation with other words."""
        return KeyArray(data, self.impl)

    @property
    def dtype(self) -> KeyDType:
        """The dtype, which has the implementation."""
        return _DTYPES[self.impl]

    @property
    def itemsize(self) -> int:
        """The bytes of the words of a key."""
        return self.dtype.itemsize

    @property
    def shape(self) -> Shape:
        """The shape of the array of keys."""
        shape: Shape = self.data.shape[:-1]
        return shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return int(self.data.size // self.dtype.words)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object: it is a single random key")
        return self.shape[0]

    def __bool__(self) -> NoReturn:
        raise DTypeError("a key array cannot be converted to boolean")

    def __iter__(self) -> Iterator[KeyArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d key array; `split` creates several keys from one")
        return map(self.with_data, self.data)

    def __getitem__(self, index: Any) -> KeyArray:
        entries = index if isinstance(index, tuple) else (index,)
        indexed_count = sum(1 for p in entries if p is not None and p is not Ellipsis)
        if indexed_count > self.ndim:
            raise IndexingError(
                f"Too many indices: array is {self.ndim}-dimensional, but {indexed_count} were "
                "indexed"
            )
        if any(p is Ellipsis for p in entries):
            entries = (*entries, slice(None))
        return self.with_data(self.data[entries])

    if TYPE_CHECKING:  # of keys they return keys

        def reshape(
            self,
            *args: ShapeLike,
            order: str = "C",
            copy: bool | None = None,
            out_sharding: OutSharding = None,
        ) -> KeyArray: ...
        def transpose(self, *args: int | Sequence[int] | None) -> KeyArray: ...
        def flatten(self, order: str = "C") -> KeyArray: ...
        def copy(self, order: str | None = None) -> KeyArray: ...
        def ravel(self, order: str = "C", *, out_sharding: OutSharding = None) -> KeyArray: ...
        def squeeze(self, axis: int | Sequence[int] | None = None) -> KeyArray: ...
        def swapaxes(self, axis1: int, axis2: int) -> KeyArray: ...
        def take(
            self,
            indices: ArrayLike,
            axis: int | None = None,
            out: None = None,
            mode: str | None = None,
            unique_indices: bool = False,
            indices_are_sorted: bool = False,
            fill_value: ArrayLike | None = None,
        ) -> KeyArray: ...
        @property
        def T(self) -> KeyArray: ...
        @property
        def mT(self) -> KeyArray: ...
    else:
        reshape = views.reshape_method
        transpose = views.transpose_method
        flatten = views.flatten
        copy = array.copy
        ravel = shapes.ravel
        squeeze = shapes.squeeze
        swapaxes = transposing.swapaxes
        take = taking.take
        T = property(transposing.transpose)
        mT = property(transposing.matrix_transpose)

    def __getattr__(self, name: str) -> Any:
        method = None if name.startswith("_") else getattr(Array, name, None)
        if not callable(method) and name != "item":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

        def refused(*args: Any, **kwargs: Any) -> NoReturn:
            raise UnsupportedError(
                f"Cannot call abstract method {name}: a key array has no numbers",
                hint="olympus.random.key_data(keys) returns the words of keys",
            )

        return refused

    @property
    def at(self) -> _KeysAt:
        """Keys with some replaced: `keys.at[index].set(others)`; and `get`, which reads."""
        return _KeysAt(self)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, KeyArray):
            if other.dtype != self.dtype:
                raise DTypeError(f"equal does not accept dtypes {self.dtype}, {other.dtype}")
            return _equal(self, other)
        if isinstance(other, (Array, np.ndarray, np.generic, bool, int, float, complex)):
            names = f"{self.dtype}, {dtypes.long_name(get_aval(other).dtype)}"
            raise DTypeError(f"equal does not accept dtypes {names}: it compares keys with keys")
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else ~same

    @property
    def nbytes(self) -> int:
        """The bytes of the words."""
        return self.size * self.itemsize

    @property
    def sharding(self) -> Any:
        """The sharding of the keys."""
        sharding = self.data.sharding
        if isinstance(sharding, NamedSharding):  # without the axis of the words
            sharding = sharding.with_partitions(sharding.spec.partitions[: self.ndim])
        return sharding

    @property
    def committed(self) -> bool:
        """True if a program may not move the keys to another device."""
        return bool(self.data.committed)

    _committed = committed

    @property
    def is_fully_addressable(self) -> bool:
        """True if this process has all devices that hold the keys."""
        return bool(self.data.is_fully_addressable)

    @property
    def is_fully_replicated(self) -> bool:
        """True if each device holds all keys."""
        return bool(self.data.is_fully_replicated)

    @property
    def addressable_shards(self) -> list[Any]:
        """The part of the keys on each device of this process."""
        return [
            Shard(s.device, s.index[:-1], s.replica_id, self.with_data(s.data))
            for s in self.data.addressable_shards
        ]

    def addressable_data(self, index: int) -> KeyArray:
        """Return the part of the keys on the device `index` of this process."""
        return self.with_data(self.data.addressable_data(index))

    @property
    def global_shards(self) -> list[Any]:
        """The part of the keys on each device."""
        return self.addressable_shards

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the words in the device's memory."""
        return int(self.data.unsafe_buffer_pointer())

    def on_device_size_in_bytes(self) -> int:
        """Return the bytes of the words in the memory of devices."""
        return int(self.data.on_device_size_in_bytes())

    def copy_to_host_async(self) -> None:
        """Begin to copy the words to the host."""
        self.data.copy_to_host_async()

    @property
    def device(self) -> Device | None:
        """The device that holds the keys."""
        data_device: Device | None = self.data.device
        return data_device

    def devices(self) -> set[Device]:
        """Return the devices that hold the keys: one."""
        data_devices: set[Device] = self.data.devices()
        return data_devices

    def is_deleted(self) -> bool:
        """Return True if the keys were deleted, or donated to a computation."""
        return bool(self.data.is_deleted())

    def delete(self) -> None:
        """Free the device's memory; the keys cannot be used after."""
        self.data.delete()

    def block_until_ready(self) -> KeyArray:
        """Wait until the keys are computed, and return them."""
        self.data.block_until_ready()
        return self

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DTypeError(
            "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use "
            "jax.random.key_data(arr) if you wish to extract the underlying integer array.",
        )

    @property
    def aval(self) -> ShapedArray:
        """The type, of the dtype of keys."""
        if not isinstance(self.data, Array):
            return shaped(self.shape, self.dtype)  # type: ignore[arg-type]
        words = get_aval(self.data)
        aval = words.without_axis(words.ndim - 1).update(dtype=self.dtype)  # type: ignore[arg-type]
        is_placed = isinstance(self.data, DeviceArray)
        return visible_type(aval, self.sharding) if is_placed else aval

    def __repr__(self) -> str:
        if not hasattr(self.data, "shape"):  # a tree's leaf may be anything
            return f"KeyArray({self.data!r})"
        if isinstance(self.data, ShapedArray):
            return repr(self.aval)
        if isinstance(self.data, ShapeDtypeStruct):
            return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"
        if isinstance(self.data, Tracer):
            words = rf"uint32\[(?:([\d,]*),)?{self.dtype.words}\]"
            return re.sub(words, rf"{self.dtype}[\1]", repr(self.data))
        return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{self.data}"


def _refused(function: str) -> Callable[..., NoReturn]:
    """Return an operator that raises the error for operands without numbers."""

    def operator(self: KeyArray, *others: Any) -> NoReturn:
        raise DTypeError(keys_term(function, (self, *others)))

    return operator


def _of_words(words: Any, impl: str) -> Any:
    """Return keys, or their tangent: a float0 array of their shape."""
    if data.is_float0(words):
        return np.zeros(words.shape[:-1], words.dtype)
    return KeyArray(words, impl)


for _operator, _function in _OPERATORS.items():
    setattr(KeyArray, _operator, _refused(_function))
for _operator in list(_OPERATORS)[:8]:
    setattr(KeyArray, f"__r{_operator[2:]}", _refused(_OPERATORS[_operator]))
key_classes.append(KeyArray)
tree.key_class = KeyArray
data.key_types.append(KeyArray)
register_visible_type(KeyArray)
tree.register_node(
    KeyArray,
    lambda keys: ((keys.data,), keys.impl),
    lambda impl, children: _of_words(children[0], impl),
    lambda keys: (((tree.GetAttrKey("data"), keys.data),), keys.impl),
)


#: a key: a typed one, or a raw one
KeyLike = ArrayLike | KeyArray
_Key = TypeVar("_Key", bound=KeyLike)


_KEY_TERM = "JAX encountered invalid PRNG key data: expected key_data"


def key_words(name: str, keys: Any) -> Any:
    """Return the words of raw or typed keys; raise DTypeError or ShapeError for other values."""
    data = keys.data if keys.__class__ is KeyArray else keys
    aval = get_aval(data) if hasattr(data, "dtype") else None
    if aval is None:
        raise DTypeError(
            f"{_KEY_TERM} to have ndim, shape, and dtype attributes. Got {value_text(keys)} as the "
            f"key of {name}",
            hint="create a key with olympus.random.key",
        )
    if aval.dtype != UINT32:
        raise DTypeError(
            f"{_KEY_TERM}.dtype = uint32; got dtype={aval.dtype}, in {aval.long_name()} as the key "
            f"of {name}",
            hint="create a key with olympus.random.key",
        )
    typed = keys.__class__ is KeyArray
    sizes = {keys.dtype.words} if typed else {2, 4, _DTYPES[state.default_prng_impl].words}
    if not aval.shape:
        raise ShapeError(f"{_KEY_TERM}.ndim >= 1; got ndim=0 as the key of {name}")
    if aval.shape[-1] not in sizes:
        expected = " or ".join([f"({size},)" for size in sorted(sizes)])
        raise ShapeError(
            f"{_KEY_TERM}.shape to end with {expected}; got shape={aval.shape} as the key of {name}"
        )
    return data


def one_key(name: str, key: Any) -> Any:
    """Return the words of one key of Threefry, or the `KeyArray` of another implementation.

    Raises ShapeError, which names the function, for an array of keys.
    """
    data = key.data if key.__class__ is KeyArray else key
    check_raw_key(name, key)
    if getattr(data, "aval", None) is _ONE_KEY and impl_of(key) == THREEFRY:
        return data
    shape = get_aval(key_words(name, key)).shape[:-1]
    if shape:
        raise ShapeError(
            f"{name} accepts a single key, but was given a key array of shape {shape} != (). "
            "Use jax.vmap for batching.",
            hint="use olympus.vmap to pass one key at a time",
        )
    impl = impl_of(key)
    return data if impl == THREEFRY else KeyArray(data, impl)


def check_raw_key(name: str, keys: Any) -> None:
    """Warn of raw keys, or raise ArgumentError for them, where `legacy_prng_key` requires it."""
    if state.legacy_prng_key != "allow" and keys.__class__ is not KeyArray:
        refuse_raw_key(name)


def impl_of(keys: Any) -> str:
    """Return the implementation of typed keys, or of raw ones by the number of their words.

    Raw keys belong to the default implementation if they have as many words as its keys.
    """
    if keys.__class__ is KeyArray:
        impl: str = keys.impl
        return impl
    default = state.default_prng_impl
    words = get_aval(keys).shape[-1]
    if words == _DTYPES[default].words:
        return default
    return THREEFRY if words == 2 else "rbg"


def like(key: KeyLike, keys: Any) -> Array | KeyArray:
    """Return keys, words or a `KeyArray`, in the form of `key`: raw or typed."""
    if key.__class__ is KeyArray:
        return keys if keys.__class__ is KeyArray else KeyArray(keys)
    result: Array = keys.data if keys.__class__ is KeyArray else keys
    return result


def implementation(impl: Any) -> str:
    """Return the name of an implementation; raise ArgumentError for another value."""
    if impl is None:
        return state.default_prng_impl
    if isinstance(impl, KeyDType):
        return impl.impl
    named = {name: x for name, x in IMPLEMENTATIONS.items() if not x.is_defined}
    for name, known in named.items():
        if impl in (name, known.tag):
            return name
    if not isinstance(impl, str):
        raise ArgumentError(f"unrecognized type {type(impl)} for specifying PRNG implementation.")
    names = ", ".join([f'"{name}"' for name in named])
    raise ArgumentError(f'unrecognized PRNG implementation "{impl}". Did you mean one of: {names}?')


def checked_seed(name: str, seed: Any) -> Any:
    """Return a seed, an integer of shape (); raise ShapeError or DTypeError for another value."""
    if isinstance(seed, KeyArray):
        raise DTypeError(f"{name} accepts a scalar seed, but was given a key array")
    if isinstance(seed, int):
        seed = np.int64(seed).astype(dtypes.default_dtype("i"))
    aval: ShapedArray = get_aval(seed)
    if aval.shape:
        raise ShapeError(
            f"{name} accepts a scalar seed, but was given an array of shape {aval.shape} != (). "
            "Use jax.vmap for batching",
            hint="use olympus.vmap to make a key of each seed",
        )
    if dtypes.kind(aval.dtype) not in "iu":
        raise DTypeError(f"{name}: a PRNG key seed must be an integer; got {aval.long_name()}")
    return seed
