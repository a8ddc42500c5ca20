"""Messages on a shortage of memory, files or processes; this module imports nothing large."""

from __future__ import annotations

import errno
import sys

EXIT_CODE = 4  # the same as for a compiler that runs out of memory
HINT = "`ulimit -a` shows the limits of memory, files and processes"

_MIN = 512  # MiB of address space: with less, libraries end the process when imported
_ERRORS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}
#: The messages of the dynamic linker and of Python, in exceptions of other classes.
_MESSAGES = (
    "failed to map segment",
    "Cannot allocate memory",
    "cannot allocate memory",
    "Too many open files",
    "can't start new thread",
)


def words(error: BaseException) -> str | None:
    """Return a message on the exhausted resource; None if `error` is not a shortage.

    >>> words(OSError(24, "Too many open files"))
    'the system is out of resources: Too many open files'
    """
    if hasattr(error, "exit_code"):  # an error of OLYMPUS has its own message
        return None
    try:
        text = str(error)
    except BaseException:  # `error` may have a class of the user
        text = ""
    if isinstance(error, MemoryError):
        return f"this machine's memory is too small{text and f': {text}'}"
    if isinstance(error, OSError) and error.errno in _ERRORS:
        return f"the system is out of resources: {error.strerror}"
    is_of_system = isinstance(error, OSError | ImportError | RuntimeError | SystemError)
    if is_of_system and any(message in text for message in _MESSAGES):
        return f"the system is out of resources: {text.splitlines()[-1].strip()}"
    return None


def check_memory() -> None:
    """Raise MemoryError if the limit of the process is below the memory for its start."""
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _MIN << 20:
        raise MemoryError(f"`ulimit -v` allows {limit >> 20} MiB, and a start needs {_MIN}")
