"""The exit of a command's process, without the slow steps of Python's exit.

Python frees every object and unloads every library.  That takes 80 ms once the compiler is loaded.
The operating system frees all of it faster.
"""

from __future__ import annotations

import atexit
import os
import sys

_TOOLS = range(6)  # the tool ids of `sys.monitoring`, for debuggers, profilers and others


def leave(code: object) -> None:
    """End the process with the `code` of a SystemExit, with the steps of Python's exit that matter.

    Functions registered with `atexit` run, and the streams are flushed.  Objects are not freed, so
    a file that is still open is not flushed.  The function returns if Python itself must end the
    process: another thread must be joined, a debugger or a profiler is active, the interpreter
    becomes interactive, or `code` is a text.
    """
    code = 0 if code is None else code
    if not isinstance(code, int) or _is_watched() or _has_threads():
        return
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):  # Python has its own exit code for this
        return
    os._exit(code & 0xFF)


def _is_watched() -> bool:
    """Return True if a debugger, a profiler or the user continues in this process afterwards."""
    if sys.flags.inspect or sys.gettrace() is not None or sys.getprofile() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    return monitoring is not None and any(map(monitoring.get_tool, _TOOLS))


def _has_threads() -> bool:
    """Return True if a thread runs that Python joins at its exit."""
    threading = sys.modules.get("threading")
    if threading is None:
        return False
    own = threading.current_thread()
    return any(thread is not own and not thread.daemon for thread in threading.enumerate())
