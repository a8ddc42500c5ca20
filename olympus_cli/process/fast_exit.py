"""The end of a command's process, without the part of Python's own that takes long.

Python frees every object and unloads every library.  That takes 80 ms once the compiler is loaded,
and the system takes all of it back at once.
"""

from __future__ import annotations

import atexit
import os
import sys

__all__ = ["leave"]

_TOOLS = range(6)  # the numbers that `sys.monitoring` has for debuggers, profilers and the like


def leave(code: object) -> None:
    """End the process with the `code` of a SystemExit, as Python would for all that a command does.

    Functions registered with `atexit` run, and the streams are flushed.  What objects do when they
    are freed is left out: a file that nobody has closed is not flushed.  It returns where Python
    itself has to end the process: another thread has to be waited for, a debugger or a profiler
    watches, the interpreter shall stay, or `code` is a text.
    """
    code = 0 if code is None else code
    if not isinstance(code, int) or _is_watched() or _has_threads():
        return
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):  # Python has an exit code of its own for it
        return
    os._exit(code & 0xFF)


def _is_watched() -> bool:
    """Whether somebody waits for the command to be over, in the same process."""
    if sys.flags.inspect or sys.gettrace() is not None or sys.getprofile() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12 has it
    return monitoring is not None and any(map(monitoring.get_tool, _TOOLS))


def _has_threads() -> bool:
    """Whether a thread is at work that Python waits for at its end."""
    threading = sys.modules.get("threading")
    if threading is None:
        return False
    own = threading.current_thread()
    return any(each is not own and not each.daemon for each in threading.enumerate())
