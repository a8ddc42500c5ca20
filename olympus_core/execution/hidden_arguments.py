"""The large arrays that a function closes over, as hidden arguments of its executable.

The executable takes them before the arguments of a call. They are stored once in a bundle, for all
of its programs, and are bound when a program is loaded.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from olympus_bundle.weights import DTYPES
from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, array_to_numpy
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import UsageError
from olympus_core.execution.channels_last import has_convolutions
from olympus_core.execution.constant_folding import folded, has_large
from olympus_core.ir.olympuspr import Atom, Olympuspr, once_per_program, sub_programs
from olympus_core.ir.tracer import Tracer
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.placement.sharding import Sharding

#: The modes of closed-over arrays: all of them in the program, or the large ones stored apart.
Constants = Literal["embed", "store"]
#: The least size in bytes of an array that is stored apart.
MIN_BYTES = 2**16

_STORED = frozenset(DTYPES.values())


class HiddenArguments:
    """The values of the leading arguments of an executable, which its calls do not take.

    `arrays` are their values. Two are equal if their types and bytes are.

    >>> HiddenArguments([np.ones(2, "float32")]).bytes
    8
    """

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]] = ()) -> None:
        self.arrays = tuple(arrays)
        self._on: dict[Any, tuple[xla.Buffer, ...]] = {}

    def __len__(self) -> int:
        return len(self.arrays)

    @cached_property
    def avals(self) -> tuple[ShapedArray, ...]:
        """The types of the arrays."""
        return tuple([ShapedArray(x.shape, x.dtype) for x in self.arrays])

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """The SHA-256 of the type and the bytes of each array, in hexadecimal."""
        return tuple(map(_digest, self.arrays))

    @property
    def bytes(self) -> int:
        """The size of the arrays in bytes."""
        return sum(x.nbytes for x in self.arrays)

    def on(self, device: Any) -> tuple[xla.Buffer, ...]:
        """Return the buffers of the arrays on a device, where they are put once.

        On the CPU they share the memory of arrays whose address is a multiple of 64 bytes.
        """
        if device not in self._on:
            self._on[device] = tuple([xla.share(x, device) for x in self.arrays])
        return self._on[device]

    def placed(self, shardings: Sequence[Sharding]) -> tuple[DeviceArray, ...]:
        """Return the arrays with the shardings of a program of several devices."""
        pairs = zip(self.arrays, shardings, strict=True)
        return tuple([put_on(x, sharding) for x, sharding in pairs])


NO_ARGUMENTS = HiddenArguments()


class Storage(NamedTuple):
    """The place of a program's large constants: in the program, or apart.

    `sharding` is that of constants that are apart, in a program of several devices. Operations on
    these are evaluated when the program is lowered, if it `folds`.
    """

    is_apart: bool
    sharding: Sharding | None = None
    folds: bool = True

    def hide(
        self, program: Olympuspr, *, has_kernels: bool = True
    ) -> tuple[Olympuspr, HiddenArguments]:
        """Return a program with its large constants as leading inputs, if they are apart.

        With `has_kernels`, constants that convolutions read stay in the program: the compiler puts
        their elements in another order, which a call would do again.
        """
        if not self.is_apart or not has_large(program, MIN_BYTES):
            return program, NO_ARGUMENTS
        program = _folded(program) if self.folds else _unfolded(program)
        kernels = _read_by_convolutions(program) if has_kernels else frozenset[Atom]()
        return hidden_arguments(program, kernels) if kernels else _all_hidden(program)


EMBEDDED = Storage(is_apart=False)


def _digest(array: np.ndarray[Any, Any]) -> str:
    whole = hashlib.sha256(f"{array.dtype.name} {array.shape}\n".encode())
    whole.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return whole.hexdigest()


def checked_constants(constants: object) -> Constants:
    """Return the value, "embed" or "store"; raise UsageError for any other."""
    if constants == "embed":
        return "embed"
    if constants == "store":
        return "store"
    raise UsageError(f'constants is "embed" or "store", and got {constants!r:.80}')


@once_per_program
def _folded(program: Olympuspr) -> Olympuspr:
    return folded(program, MIN_BYTES)


@once_per_program
def _unfolded(program: Olympuspr) -> Olympuspr:
    return folded(program, MIN_BYTES, evaluates=False)


def _read_by_convolutions(program: Olympuspr) -> frozenset[Atom]:
    """Return the operands of convolutions, and of equations whose programs have some."""
    readers = [
        eqn
        for eqn in program.eqns
        if eqn.primitive.is_convolution
        or (eqn.primitive.has_programs and any(map(has_convolutions, sub_programs(eqn))))
    ]
    return frozenset([x for eqn in readers for x in eqn.inputs])


def hidden_arguments(
    program: Olympuspr, embedded: Collection[Atom] = ()
) -> tuple[Olympuspr, HiddenArguments]:
    """Return a program with its large constants as leading inputs, and their values.

    A constant stays in the program if it is one of `embedded`, or has fewer than `MIN_BYTES` bytes,
    equal elements, a type with a sharding, or a dtype that a .safetensors file does not have.
    """
    pairs = [*zip(program.constvars, program.consts, strict=True)]
    is_large = [pair[0] not in embedded and _is_large(*pair) for pair in pairs]
    large = list(itertools.compress(pairs, is_large))
    small = [pair for pair, stored in zip(pairs, is_large, strict=True) if not stored]
    arrays = [np.ascontiguousarray(array_to_numpy(x)) for _, x in large]
    taking = program.replace(
        invars=(*[v for v, _ in large], *program.invars),
        constvars=[v for v, _ in small],
        consts=[x for _, x in small],
    )
    return taking, HiddenArguments(arrays)


def _is_large(var: Any, value: Any) -> bool:
    aval = var.aval
    if isinstance(value, Tracer) or aval.explicit is not None or aval.dtype.name not in _STORED:
        return False
    if aval.size * aval.dtype.itemsize < MIN_BYTES:
        return False
    array = array_to_numpy(value)
    return array.dtype == aval.dtype and not _has_equal_elements(array)


def _has_equal_elements(array: np.ndarray[Any, Any]) -> bool:
    first, words = array.flat[0].tobytes(), np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if any(x.tobytes() != first for x in array.reshape(-1)[:4]):
        return False
    return bool(words.tobytes() == first * array.size)


_all_hidden = once_per_program(hidden_arguments)


def with_constants(program: Olympuspr, hidden: HiddenArguments) -> Olympuspr:
    """Return a program whose leading inputs are constants again: the inverse of the above."""
    count = len(hidden)
    return program.replace(
        invars=program.invars[count:],
        constvars=(*program.invars[:count], *program.constvars),
        consts=(*hidden.arrays, *program.consts),
    )


def shifted_entry(
    entry: EntryAttributes,
    count: int,
    sharding: Sharding | None = None,
    digests: Sequence[str] = (),
) -> EntryAttributes:
    """Return the attributes of an entry function that takes `count` arguments before its own.

    `sharding` is that of these arguments in a program of several devices, and `digests` are the
    SHA-256 of their values.
    """
    if not count:
        return entry
    return entry._replace(
        constants=digests,
        aliases={i + count: result for i, result in entry.aliases.items()},
        donated=frozenset([i + count for i in entry.donated]),
        in_shardings=(*[sharding] * count, *entry.in_shardings),
        arg_shardings=(*[None] * count, *entry.arg_shardings) if entry.arg_shardings else (),
    )
