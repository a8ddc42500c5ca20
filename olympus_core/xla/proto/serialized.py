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
from olympus_core.xla.proto.wire import (
    Message,
    edited,
    integer_field,
    varint,
    with_sorted_fields,
    without_field,
)

_EXECUTABLE, _OPTIONS, _BUILD_OPTIONS, _REPLICAS, _PARTITIONS = 1, 2, 3, 4, 5
_MODULE_AND_CONFIG, _ASSIGNMENT, _MODULE = 1, 2, 1
# The machine code of the kernels, in the order in which threads finished it.
_OBJECT_FILES = 8
# Of an HloModuleProto its number in the process that compiled it.
_ID = 5
# The thunks, a ThunkSequenceProto (xla/backends/cpu/runtime/thunk.proto): of each thunk its kind
# and its information, and of that the names of operation and module, and the module's number.
_SEQUENCE, _THUNK, _KIND, _INFO, _OPERATION, _MODULE_NAME, _MODULE_ID = 6, 1, 1, 2, 1, 2, 3
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


def canonical(serialized: bytes) -> bytes:
    """Return an executable for the CPU in a form that is equal for each compilation of a program.

    The compiler writes the machine code of kernels in the order in which its threads finish, and
    numbers the programs of a process. The order of the result is that of the bytes, and it has
    no number. Bytes in another form are returned unchanged.

    >>> canonical(compiled.serialize()) == canonical(compiled_again.serialize())
    True
    """
    try:
        length, begin = varint(serialized, 0)
        head, content = serialized[: begin + length], memoryview(serialized)[begin + length :]
        steps = (_EXECUTABLE, _MODULE_AND_CONFIG, _MODULE)
        numbered = _within(content, steps, lambda module: without_field(module, _ID))
        return head + edited(numbered, _EXECUTABLE, _ordered)
    except ArtifactError:
        return serialized


def _ordered(executable: bytes | memoryview) -> bytes:
    """Return a `CompilationResultProto` with its machine code in order."""
    ordered = with_sorted_fields(executable, _OBJECT_FILES)
    return edited(ordered, _SEQUENCE, lambda sequence: edited(sequence, _THUNK, _thunk))


def _thunk(data: bytes | memoryview) -> bytes:
    """Return a thunk, and the thunks nested in it, without the number of the module."""
    content = edited(data, _INFO, lambda info: without_field(info, _MODULE_ID))
    for number in Message(content).numbers - {_KIND, _INFO}:
        content = edited(content, number, _with_nested_thunks)
    return content


def _with_nested_thunks(data: bytes | memoryview) -> bytes:
    """Return the part of a thunk that its kind alone has, such as the body of a loop."""
    content = bytes(data)
    try:
        for number in Message(content).numbers:
            content = edited(content, number, _sequence)
    except ArtifactError:  # it is no message but text, such as machine code
        return bytes(data)
    return content


def _sequence(data: bytes | memoryview) -> bytes:
    """Return a sequence of thunks without the number of the module; other fields unchanged."""
    try:
        message = Message(data)
        thunks = message.messages(_THUNK) if message.numbers == {_THUNK} else []
        infos = [thunk.message(_INFO) for thunk in thunks]
        has_names = [i and {_OPERATION, _MODULE_NAME} <= i.numbers for i in infos]
    except ArtifactError:
        return bytes(data)
    if not has_names or not all(has_names):
        return bytes(data)
    return edited(data, _THUNK, _thunk)


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
