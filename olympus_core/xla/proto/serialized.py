"""The description of a program in the bytes of an executable for the CPU, without the runtime.

The bytes are the length of a header, the header, and XLA's `ExecutableAndOptionsProto`
(xla/pjrt/proto/compile_options.proto). It contains a `CompilationResultProto`
(xla/service/cpu/executable.proto), with the program and the places of its values. The numbers of
fields are the ones that jaxlib 0.10.2 and 0.12 write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from olympus_core.base.errors import ArtifactError
from olympus_core.xla.proto.wire import Message, edited, integer_field, varint

_EXECUTABLE, _OPTIONS, _BUILD_OPTIONS, _REPLICAS, _PARTITIONS = 1, 2, 3, 4, 5
_MODULE_AND_CONFIG, _ASSIGNMENT, _MODULE = 1, 2, 1
# Of an HloModuleProto its StackFrameIndex, and of that the names of files and the places in them.
_FRAMES, _FILES, _LOCATIONS = 17, 1, 3
_FILE_ID, _LINE, _END_LINE = 1, 3, 5


class Description(NamedTuple):
    """The bytes of an `HloModuleProto`, and those of its `BufferAssignmentProto`.

    They are views of the executable's bytes, which may be large because of constants.
    """

    module: bytes | memoryview
    assignment: bytes | memoryview


def described(serialized: bytes) -> Description | None:
    """Return the description of the program of an executable for the CPU.

    Return None if the bytes are damaged or have another form.
    """
    try:
        executable = Message(_last(_content(serialized), _EXECUTABLE))
        module = _last(Message(_last(executable, _MODULE_AND_CONFIG)), _MODULE)
        description = Description(module, _last(executable, _ASSIGNMENT))
    except ArtifactError:
        return None
    return description if all(description) else None


def _content(serialized: bytes) -> Message:
    """Return the bytes after the header."""
    length, begin = varint(serialized, 0)
    return Message(memoryview(serialized)[begin + length :])


def _last(message: Message, number: int) -> bytes | memoryview:
    return (message.views(number) or (b"",))[-1]


def serialized_for(serialized: bytes) -> int | None:
    """Return the number of devices that an executable for the CPU was compiled for.

    Return None if the bytes are damaged or have another form.

    >>> serialized_for(compiled.serialize())
    8
    """
    try:
        options = _content(serialized).message(_OPTIONS)
        build = options and options.message(_BUILD_OPTIONS)
    except ArtifactError:
        return None
    return build.integer(_REPLICAS) * build.integer(_PARTITIONS) or None if build else None


def relocated(serialized: bytes, located: Callable[[str, int], tuple[str, int]]) -> bytes:
    """Return an executable for the CPU with the paths and source lines of its program replaced.

    `located` returns the new path and line for a path and line; a line of 0 requests only the path.
    Bytes in another form are returned unchanged.

    >>> relocated(compiled.serialize(), lambda path, line: (path, line + 2))
    """
    try:
        length, begin = varint(serialized, 0)
        head, content = serialized[: begin + length], serialized[begin + length :]
        steps = (_EXECUTABLE, _MODULE_AND_CONFIG, _MODULE, _FRAMES)
        return head + _within(content, steps, lambda index: relocated_index(index, located))
    except (ArtifactError, UnicodeError):
        return serialized


def _within(
    data: bytes | memoryview, steps: tuple[int, ...], edit: Callable[[bytes | memoryview], bytes]
) -> bytes:
    """Return a message with the nested message at the end of `steps`, numbers of fields, edited."""
    if not steps:
        return edit(data)
    return edited(data, steps[0], lambda inner: _within(inner, steps[1:], edit))


def relocated_index(
    index: bytes | memoryview, located: Callable[[str, int], tuple[str, int]]
) -> bytes:
    """Return a table of source lines, a `StackFrameIndexProto`, with its lines replaced."""
    files = Message(index).texts(_FILES)

    def location(view: bytes | memoryview) -> bytes:
        content = bytes(view)
        message = Message(content)
        file, line = message.integer(_FILE_ID), message.integer(_LINE)
        if not 0 < file <= len(files):
            return content
        moved = located(files[file - 1], line)[1] - line
        for number in (_LINE, _END_LINE):
            if number in message:
                content = integer_field(content, number, message.integer(number) + moved)
        return content

    names = edited(index, _FILES, lambda name: located(str(name, "utf-8"), 0)[0].encode())
    return edited(names, _LOCATIONS, location)
