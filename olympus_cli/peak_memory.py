"""The most memory that this process has had so far.

It imports next to nothing, for what measures other programs uses it too.
"""

import sys

__all__ = ["peak_memory"]


def peak_memory() -> int | None:
    """The largest resident set of this process so far, in bytes; None where none is told."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    import resource  # not Linux: here a child may count what it inherited from its parent

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (peak if sys.platform == "darwin" else 1024 * peak) or None
