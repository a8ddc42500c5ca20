"""`olympus.experimental.buffer_callback`: Python functions on the buffers of a program."""

from olympus_core.library.experimental.buffers import buffer_callback as _buffer_callback
from olympus_core.xla import FfiBuffer as _FfiBuffer
from olympus_core.xla import FfiContext as _FfiContext
from olympus_core.xla import FfiStage as _FfiStage

Buffer = _FfiBuffer
ExecutionContext = _FfiContext
ExecutionStage = _FfiStage
buffer_callback = _buffer_callback
