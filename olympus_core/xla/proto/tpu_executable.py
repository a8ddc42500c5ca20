"""The optimized program in the bytes of an executable for TPUs, without the runtime.

The bytes are the length of a header, the header, and a file of records.  One of the records has
the program with its configuration (xla/service/hlo.proto, HloModuleProtoWithConfig).  The form is
that of libtpu 0.0.52.
"""

from __future__ import annotations

from collections.abc import Callable

from olympus_core.base.errors import ArtifactError
from olympus_core.xla.proto.riegeli import SIGNATURE, records
from olympus_core.xla.proto.serialized import relocated_index
from olympus_core.xla.proto.wire import Message, edited, packed_integers, varint

_PROGRAM, _MODULE = 2, 1  # of a record, and of the program with its configuration
# Of a module, a computation and an instruction.
_NAME, _ENTRY_ID, _COMPUTATIONS, _FRAMES = 1, 6, 3, 17
_INSTRUCTIONS, _OPCODE, _OPERANDS = 2, 2, 36


def optimized_module(serialized: bytes) -> bytes | None:
    """Return the `HloModuleProto` of an executable; None if the bytes have another form.

    >>> read_hlo_module(optimized_module(compiled.serialize())).entry.root.opcode
    'tuple'
    """
    try:
        length, begin = varint(serialized, 0)
        file = memoryview(serialized)[begin + length :]
        if bytes(file[: len(SIGNATURE)]) != SIGNATURE:
            return None
        for record in records(file):
            if record[:1] == bytes([_PROGRAM << 3 | 2]):
                program = Message(record).message(_PROGRAM)
                module = program.raw(_MODULE) if program else b""
                if {_NAME, _COMPUTATIONS, _ENTRY_ID} <= Message(module).numbers:
                    return module
    except ArtifactError:
        return None
    return None


def relocated_module(module: bytes, located: Callable[[str, int], tuple[str, int]]) -> bytes:
    """Return a module with its paths and source lines replaced, as `serialized.relocated` does."""
    return edited(module, _FRAMES, lambda index: relocated_index(index, located))


def without_update_operands(module: bytes) -> bytes:
    """Return a module whose `async-update` operations have only their first operand.

    Since 2026 such an operation may have the operands that its `async-start` lacks, which jaxlib
    0.10.2 refuses.
    """

    def instruction(content: bytes | memoryview) -> bytes:
        message = Message(content)
        operands = message.integers(_OPERANDS)
        if message.text(_OPCODE) != "async-update" or len(operands) < 2:
            return bytes(content)
        return edited(content, _OPERANDS, lambda _: packed_integers(operands[:1]))

    def computation(content: bytes | memoryview) -> bytes:
        if b"async-update" not in bytes(content):
            return bytes(content)
        return edited(content, _INSTRUCTIONS, instruction)

    return edited(module, _COMPUTATIONS, computation)
