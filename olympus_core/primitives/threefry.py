"""The hash of counters that all random numbers are made of: Threefry-2x32 with 20 rounds.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).  It is
lowered to a function of the module, one for each shape of its operands, with all rounds written
out: XLA computes the function in one loop over the elements.  JAX lowers it for the CPU to a loop
over the rounds, which writes all words to memory in each.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import Shape, ShapedArray, shaped
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.base.source import Source
from olympus_core.ir import sharding_rules
from olympus_core.ir.olympuspr import Atom, Eqn, Literal, Olympuspr, Var
from olympus_core.ir.primitive import Batched, MultipleResults, Primitive
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.barrier import optimization_barrier_p
from olympus_core.primitives.elementwise.arithmetic import add_p
from olympus_core.primitives.elementwise.base import at_front, reshape
from olympus_core.primitives.elementwise.logic import (
    or_p,
    shift_left_p,
    shift_right_logical_p,
    xor_p,
)
from olympus_core.primitives.word_expressions import compute_same_words

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

UINT32 = np.dtype("uint32")
_WORD = shaped((), UINT32)

# Constants of the paper: the rotations of two groups of four rounds, and the key's parity word.
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


class _Words:
    """A collection of equations on uint32 arrays."""

    def __init__(self) -> None:
        self.eqns: list[Eqn] = []

    def __call__(self, primitive: Primitive, x: Atom, y: Atom | int) -> Var:
        """Add an equation and return its result; an int is a literal word."""
        other = y if isinstance(y, (Var, Literal)) else Literal(np.uint32(y), _WORD)
        return self.results(primitive, x, other)[0]

    def results(self, primitive: Primitive, *operands: Atom) -> tuple[Var, ...]:
        """Add an equation and return its results."""
        outs = tuple([Var(a) for a in primitive.out_avals(tuple([x.aval for x in operands]), {})])
        self.eqns.append(Eqn(primitive, operands, outs, {}, Source(None, 0, "")))
        return outs

    def rotate(self, x: Atom, bits: int) -> Var:
        """Return the words with their bits rotated to the left."""
        left = self(shift_left_p, x, bits)
        return self(or_p, left, self(shift_right_logical_p, x, 32 - bits))


@functools.lru_cache(maxsize=1024)
def threefry2x32(key: Shape, high: Shape, low: Shape, is_apart: bool = False) -> Olympuspr:
    """Return the program (key word 1, key word 2, counter high, counter low) -> two hash words.

    All shapes that are not () are equal.  With `is_apart`, the words are computed once, and not in
    each fusion that reads them.
    """
    words = _Words()
    k0, k1, x0, x1 = invars = tuple(Var(shaped(s, UINT32)) for s in (key, key, high, low))
    parity = words(xor_p, words(xor_p, k0, k1), PARITY)
    schedule = (k0, k1, parity)
    x0, x1 = words(add_p, x0, k0), words(add_p, x1, k1)
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x0 = words(add_p, x0, x1)
            x1 = words(xor_p, x0, words.rotate(x1, rotation))
        x0 = words(add_p, x0, schedule[(group + 1) % 3])
        injected = words(add_p, schedule[(group + 2) % 3], group + 1)
        x1 = words(add_p, x1, injected)
    outs = words.results(optimization_barrier_p, x0, x1) if is_apart else (x0, x1)
    return Olympuspr(invars, tuple(words.eqns), outs)


def emit_hash(
    ctx: LoweringContext, key: Shape, high: Shape, low: Shape, words: Sequence[Any]
) -> list[Any]:
    """Emit the call of the hash of four operands, of which the two words of a key have one shape.

    In a fusion with a user of the words, XLA of jaxlib 0.12 takes two to ten times as long to
    compile them for the CPU and, with an inverse error function, twice as long to compute them.
    """
    program = threefry2x32(key, high, low, is_apart=ctx.platform == "cpu")
    return ctx.call(program, "threefry2x32", words)


class Threefry2x32(MultipleResults):
    """The two hash words of a key's words and a counter's: (key, key, high, low) -> (word, word).

    Operands are uint32 arrays of the result's shape, or of length 1 along some of its axes, or
    scalars.  A call of a function that computes the same from its operands is raised to it, such as
    the one of JAX, whatever its name is.
    """

    raised_from: tuple[str, ...] = ("func.call",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        names = ", ".join([a.short_name() for a in avals])
        if any(a.dtype != UINT32 for a in avals):
            raise DTypeError(f"{self.name} needs uint32 words, and got {names}")
        try:
            shape = np.broadcast_shapes(*[a.shape for a in avals])
        except ValueError:
            shape = (-1,)
        if any(a.shape and len(a.shape) != len(shape) for a in avals) or -1 in shape:
            raise ShapeError(f"{self.name} needs words of one shape, and got {names}")
        return (shaped(shape, UINT32),) * 2

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.broadcast_spec(self.name, avals)] * 2

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        out = ctx.avals_out[0]
        shapes = [out.shape if a.shape else () for a in ctx.avals_in]
        if shapes[0] != shapes[1]:
            shapes[:2] = [out.shape] * 2
        words = [
            x if a.shape == s else mlir.broadcast(x, out, tuple(range(len(a.shape))))
            for x, a, s in zip(operands, ctx.avals_in, shapes, strict=True)
        ]
        return emit_hash(ctx, shapes[0], shapes[2], shapes[3], words)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands) if self._is_computed_by(operation) else None

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        return self._is_computed_by(operation)

    def _is_computed_by(self, operation: StableHloOperation) -> bool:
        """Return True for a call of a function that computes the hash of each element."""
        ins, outs = operation.avals_in, operation.avals_out
        if len(ins) != 4 or len(outs) != 2 or any(a.dtype != UINT32 for a in (*ins, *outs)):
            return False
        if any(a.shape and len(a.shape) != len(outs[0].shape) for a in ins):
            return False
        return compute_same_words(operation.callee("callee")[1], threefry2x32((), (), ()))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), [None, None]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        rank = max(len(x.shape) - (d is not None) for x, d in zip(args, dims, strict=True))
        full = []
        for x, d in zip(args, dims, strict=True):
            if d is None and not x.shape:
                full.append(x)
                continue
            front = at_front(x, d, batched.size)
            added = (1,) * (rank + 1 - len(front.shape))
            full.append(reshape(front, (batched.size, *added, *front.shape[1:])))
        return self.bind(*full, **params), [0, 0]


threefry2x32_p = Threefry2x32("threefry2x32")
