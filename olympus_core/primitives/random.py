"""Random primitives: bits from keys, and keys from seeds and from other keys.

A key is two uint32 words along the last axis.  Every value is a hash of a key and a counter, by
Threefry-2x32 (`threefry.py`); element i of a result hashes the 64-bit counter i, so that no element
depends on another.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import Shape, ShapedArray, shape_of, shaped
from olympus_core.base.dimensions.expression import is_symbolic_dim, known_at_least
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir import sharding_rules
from olympus_core.ir.primitive import Batched, MultipleResults, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir import dynamic
from olympus_core.primitives.elementwise.base import at_front, reshape
from olympus_core.primitives.threefry import UINT32, emit_hash

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

UINT64 = np.dtype("uint64")
_WORD = shaped((), UINT32)


def _key_words(ctx: LoweringContext, keys: Any, shape: Shape) -> tuple[list[Any], Shape]:
    """Return the words of `keys` for results of shape (*batch, *shape); scalars if not batched."""
    batch = ctx.avals_in[0].shape[:-1]
    words = []
    for i in range(2):
        attributes = {
            "start_indices": mlir.i64_array((*(0,) * len(batch), i)),
            "limit_indices": mlir.i64_array((*batch, i + 1)),
            "strides": mlir.i64_array((1,) * (len(batch) + 1)),
        }
        column = mlir.op1("stablehlo.slice", shaped((*batch, 1), UINT32), (keys,), attributes)
        word = mlir.op1("stablehlo.reshape", shaped(batch, UINT32), (column,))
        if batch:
            full = shaped((*batch, *shape), UINT32)
            word = mlir.broadcast(word, full, tuple(range(len(batch))))
        words.append(word)
    return words, (*batch, *shape) if batch else ()


def _counter(shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Return each element's row-major index, as a sum over axes so that it can be partitioned."""
    aval, total, stride = shaped(shape, dtype), None, 1
    for axis in reversed(range(len(shape))):
        dimension = {"iota_dimension": mlir.i64_attr(axis)}
        index = mlir.op1("stablehlo.iota", aval, (), dimension)
        if is_symbolic_dim(stride) or stride > 1:
            factor = mlir.full(aval, stride)
            index = mlir.op1("stablehlo.multiply", aval, (index, factor))
        total = index if total is None else mlir.op1("stablehlo.add", aval, (index, total))
        stride *= shape[axis]
    return mlir.full(aval, 0) if total is None else total


def _counters(shape: Shape) -> tuple[Any, Shape, Any]:
    """Return the counters' high words, the high words' shape, and the low words."""
    if not known_at_least(math.prod(shape), 2**32):
        return mlir.full(_WORD, 0), (), _counter(shape, UINT32)
    wide, aval = shaped(shape, UINT64), shaped(shape, UINT32)
    index = _counter(shape, UINT64)
    shift = mlir.full(wide, 32)
    high = mlir.op1("stablehlo.shift_right_logical", wide, (index, shift))
    return (
        mlir.op1("stablehlo.convert", aval, (high,)), shape,
        mlir.op1("stablehlo.convert", aval, (index,)),
    )  # fmt: skip


def _hash_counters(ctx: LoweringContext, keys: Any, shape: Shape) -> list[Any]:
    """Return two words for each counter of `shape`, at shape (*batch, *shape)."""
    batch = ctx.avals_in[0].shape[:-1]
    words, key_shape = _key_words(ctx, keys, shape)
    high, high_shape, low = _counters(shape)
    if batch:
        full = (*batch, *shape)
        trailing = tuple(range(len(batch), len(full)))
        low = mlir.broadcast(low, shaped(full, UINT32), trailing)
        if high_shape:
            high, high_shape = mlir.broadcast(high, shaped(full, UINT32), trailing), full
        shape = full
    return emit_hash(ctx, key_shape, high_shape, shape, (*words, high, low))


def _keys(words: list[Any], shape: Shape) -> Any:
    """Return two words along a new last axis, as keys.

    The barrier keeps XLA from recomputing a key for each element drawn from it: chains of splits
    would grow into one fusion, which takes XLA many times as long to compile.
    """
    column, keys = shaped((*shape, 1), UINT32), shaped((*shape, 2), UINT32)
    columns = [mlir.op1("stablehlo.reshape", column, (w,)) for w in words]
    axis = {"dimension": mlir.i64_attr(len(shape))}
    joined = mlir.op1("stablehlo.concatenate", keys, columns, axis)
    return mlir.op1("stablehlo.optimization_barrier", keys, (joined,))


def _check_keys(name: str, keys: ShapedArray) -> None:
    if keys.dtype != UINT32:
        raise DTypeError(f"{name} needs a key of dtype uint32, and got {keys.long_name()}")
    if keys.shape[-1:] != (2,):
        raise ShapeError(f"{name} needs a key of shape (..., 2), and got {keys.long_name()}")


class _OfEach(SingleResult):
    """A primitive that takes arrays of keys or seeds; batching adds one axis to them."""

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        full = [at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*full, **params), 0


class RandomSeed(_OfEach):
    """The key of an integer seed: its high and low 32 bits."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return shaped((*avals[0].shape, 2), UINT32)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [(*sharding_rules.spec_of(avals[0]), None)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (aval,), (seed,) = ctx.avals_in, operands
        word = shaped(aval.shape, UINT32)
        if aval.dtype.itemsize < 8:
            high = mlir.full(word, 0)
        else:
            amount = mlir.full(aval, 32)
            top = mlir.op1("stablehlo.shift_right_logical", aval, (seed, amount))
            high = mlir.op1("stablehlo.convert", word, (top,))
        return _keys([high, mlir.op1("stablehlo.convert", word, (seed,))], aval.shape)


class RandomBits(_OfEach):
    """An array of `shape` of unsigned integers of `bit_width` bits for each key."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (keys,) = avals
        _check_keys(self.name, keys)
        dtype = np.dtype(f"uint{params['bit_width']}")
        return shaped((*keys.shape[:-1], *params["shape"]), dtype)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        spec = sharding_rules.unsplit_axis(self.name, avals, avals[0].ndim - 1)
        return [(*spec[:-1], *[None] * (outs[0].ndim - len(spec) + 1))]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, width = ctx.aval_out, params["bit_width"]
        high, low = _hash_counters(ctx, operands[0], params["shape"])
        if width == 64:
            high, low = (mlir.op1("stablehlo.convert", out, (x,)) for x in (high, low))
            high = mlir.op1("stablehlo.shift_left", out, (high, mlir.full(out, 32)))
            return mlir.op1("stablehlo.or", out, (high, low))
        bits = mlir.op1("stablehlo.xor", shaped(out.shape, UINT32), (high, low))
        return bits if width == 32 else mlir.op1("stablehlo.convert", out, (bits,))


class RandomSplit(_OfEach):
    """An array of `shape` of new keys for each key."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (keys,) = avals
        _check_keys(self.name, keys)
        return shaped((*keys.shape[:-1], *params["shape"], 2), UINT32)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        spec = sharding_rules.unsplit_axis(self.name, avals, avals[0].ndim - 1)
        return [(*spec[:-1], *[None] * (outs[0].ndim - len(spec) + 1))]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        shape = ctx.aval_out.shape[:-1]
        return _keys(_hash_counters(ctx, operands[0], params["shape"]), shape)


class RandomFoldIn(_OfEach):
    """A new key for each key and word of data."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        keys, data = avals
        _check_keys(self.name, keys)
        if data.dtype != UINT32 or data.shape != keys.shape[:-1]:
            raise ShapeError(
                f"random_fold_in needs uint32 data of shape {keys.shape[:-1]} for keys "
                f"{keys.short_name()}, and got {data.short_name()}"
            )
        return keys

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.spec_of(avals[0])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        keys, data = operands
        shape = ctx.avals_in[1].shape
        words, key_shape = _key_words(ctx, keys, ())
        zero = mlir.full(_WORD, 0)
        return _keys(emit_hash(ctx, key_shape, (), shape, (*words, zero, data)), shape)


class RandomAlgorithm(enum.IntEnum):
    """The generator behind `lax.rng_bit_generator`; the default is chosen by the backend."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


#: the names of the algorithms in StableHLO
_ALGORITHMS = {
    RandomAlgorithm.RNG_DEFAULT: "DEFAULT",
    RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
    RandomAlgorithm.RNG_PHILOX: "PHILOX",
}


class RngBitGenerator(MultipleResults):
    """The next state of a generator, and an array of `shape` of random bits as `dtype`.

    The operand is the state: two uint64 words, of which the first is the key, or three for Philox.
    """

    raised_from: tuple[str, ...] = ("stablehlo.rng_bit_generator",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (state,) = avals
        if state.dtype != UINT64 or state.shape not in ((2,), (3,)):
            raise ShapeError(
                f"{self.name} needs a state of two or three uint64 words, and got "
                f"{state.short_name()}"
            )
        return state, shaped(params["shape"], params["dtype"])

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        attributes = {"rng_algorithm": _algorithm_attribute(_ALGORITHMS[params["algorithm"]])}
        name, inputs = "stablehlo.rng_bit_generator", [*operands]
        if ctx.avals_out[1].is_symbolic:
            attributes["call_target_name"] = mlir.string_attr("stablehlo.dynamic_rng_bit_generator")
            name = "stablehlo.custom_call"
            inputs.append(dynamic.size_vector(params["shape"]))
        return list(mlir.op(name, types, inputs, attributes).results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        text = operation.text("rng_algorithm")
        bits = operation.avals_out[1]
        for algorithm, name in _ALGORITHMS.items():
            if text == str(_algorithm_attribute(name)):
                return self.bind(*operands, shape=bits.shape, dtype=bits.dtype, algorithm=algorithm)
        return None

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), [None, None]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        """Draw all bits by the first state, as JAX does, and replace only that one by the next."""
        states = at_front(args[0], dims[0], batched.size)
        size = shape_of(states)[1]
        first = op.slice(states, start_indices=(0, 0), limit_indices=(1, size), strides=None)
        following, bits = self.bind(
            reshape(first, (size,)), **{**params, "shape": (batched.size, *params["shape"])}
        )
        rest = op.slice(
            states, start_indices=(1, 0), limit_indices=(batched.size, size), strides=None
        )
        joined = op.concatenate(reshape(following, (1, size)), rest, dimension=0)
        return [joined, bits], [0, 0]


def _algorithm_attribute(name: str) -> Any:
    return mlir.ir.Attribute.parse(f"#stablehlo<rng_algorithm {name}>")


random_seed_p = RandomSeed("random_seed")
random_bits_p = RandomBits("random_bits")
random_split_p = RandomSplit("random_split")
random_fold_in_p = RandomFoldIn("random_fold_in")
rng_bit_generator_p = RngBitGenerator("rng_bit_generator")
