"""What the bytes of a serialized executable say before the runtime reads them."""

from __future__ import annotations

from olympus_core.errors import ArtifactError
from olympus_core.xla.wire import Message

__all__ = ["serialized_for"]

# Fields of XLA's ExecutableAndOptionsProto, CompileOptionsProto and ExecutableBuildOptionsProto
# (xla/pjrt/proto/compile_options.proto), which those of a header precede.
_OPTIONS, _BUILD_OPTIONS, _REPLICAS, _PARTITIONS = 2, 3, 4, 5
_HEADER = b"\x0a"  # the tag of a message: a header begins with its length alone


def serialized_for(serialized: bytes) -> int | None:
    """The number of devices that an executable for the CPU was compiled for.

    None where the bytes do not say it, for they are damaged or in another form.

    >>> serialized_for(compiled.serialize())
    8
    """
    try:
        options = Message(_HEADER + serialized).message(_OPTIONS)
        build = options and options.message(_BUILD_OPTIONS)
    except ArtifactError:
        return None
    return build.integer(_REPLICAS) * build.integer(_PARTITIONS) or None if build else None
