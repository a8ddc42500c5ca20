"""Debugging of programs: printed arrays, calls of Python functions, and the sharding of arrays."""

from olympus_core.library.callbacks import debug_callback as _callback
from olympus_core.library.callbacks import debug_log as _log
from olympus_core.library.callbacks import debug_print as _print
from olympus_core.library.debug import inspect_array_sharding as inspect_array_sharding
from olympus_core.library.debug import visualize_array_sharding as visualize_array_sharding
from olympus_core.library.debug import visualize_sharding as visualize_sharding
from olympus_core.library.debugger import breakpoint as _breakpoint

breakpoint = _breakpoint
callback = _callback
log = _log
print = _print
