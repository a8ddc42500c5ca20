"""What the bytes of an executable for the CPU say, without the runtime.

They are the length of a header, the header, and XLA's `ExecutableAndOptionsProto`
(xla/pjrt/proto/compile_options.proto).  In that stands a `CompilationResultProto`
(xla/service/cpu/executable.proto), which has the program and where the compiler put its values.
The numbers of fields are those that jaxlib 0.10.2 and 0.12 write.
"""

from __future__ import annotations

from typing import NamedTuple

from olympus_core.errors import ArtifactError
from olympus_core.xla.wire import Message, varint

__all__ = ["Description", "described", "serialized_for"]

_EXECUTABLE, _OPTIONS, _BUILD_OPTIONS, _REPLICAS, _PARTITIONS = 1, 2, 3, 4, 5
_MODULE_AND_CONFIG, _ASSIGNMENT, _MODULE = 1, 2, 1


class Description(NamedTuple):
    """The bytes of an `HloModuleProto`, and those of its `BufferAssignmentProto`.

    They are views of those of the executable, for constants may make them large.
    """

    module: bytes | memoryview
    assignment: bytes | memoryview


def described(serialized: bytes) -> Description | None:
    """What an executable for the CPU says of its program.

    None where the bytes do not say it, for they are damaged or in another form.
    """
    try:
        executable = Message(_last(_content(serialized), _EXECUTABLE))
        module = _last(Message(_last(executable, _MODULE_AND_CONFIG)), _MODULE)
        found = Description(module, _last(executable, _ASSIGNMENT))
    except ArtifactError:
        return None
    return found if all(found) else None


def _content(serialized: bytes) -> Message:
    """What follows the header."""
    length, begin = varint(serialized, 0)
    return Message(memoryview(serialized)[begin + length :])


def _last(message: Message, number: int) -> bytes | memoryview:
    return (message.views(number) or (b"",))[-1]


def serialized_for(serialized: bytes) -> int | None:
    """The number of devices that an executable for the CPU was compiled for.

    None where the bytes do not say it, for they are damaged or in another form.

    >>> serialized_for(compiled.serialize())
    8
    """
    try:
        options = _content(serialized).message(_OPTIONS)
        build = options and options.message(_BUILD_OPTIONS)
    except ArtifactError:
        return None
    return build.integer(_REPLICAS) * build.integer(_PARTITIONS) or None if build else None
