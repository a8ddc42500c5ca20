"""Huge pages for the memory of a process that forks many others.

A fork copies an entry of the page table for each page, and the end of the forked process frees
them again. For a process with all modules of OLYMPUS both take several milliseconds. A huge page
has one entry, and is divided when the forked process writes to it.
"""

from __future__ import annotations

import ctypes
import re
import sys
from contextlib import suppress

_COLLAPSE = 25  # madvise(2), of Linux 6.1 and later
_HUGE = 1 << 21  # bytes of a huge page, on x86-64 and on most others
# The private memory that can be written and has no file: that of Python and of the C library.
_MEMORY = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?$", re.MULTILINE)


def use_huge_pages() -> None:
    """Move the memory of this process to huge pages, if the system can do that.

    It takes 7 ms, or up to 80 ms if memory is fragmented; a fork saves 2 ms. Other systems and
    older versions of Linux do nothing.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8") as maps:
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for begin, end in _MEMORY.findall(maps.read()):
            first, last = -(-int(begin, 16) // _HUGE) * _HUGE, int(end, 16) // _HUGE * _HUGE
            if first < last:
                advise(first, last - first, _COLLAPSE)
