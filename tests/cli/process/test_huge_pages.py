"""The memory of a process in huge pages, which its forks share."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys

import pytest

from olympus_cli.process.huge_pages import use_huge_pages

# in a process of its own, because that of the tests has gigabytes
MOVED = """
import re
from olympus_cli.process.huge_pages import use_huge_pages

content = [str(n) for n in range(200_000)]


def huge() -> int:
    with open("/proc/self/smaps_rollup") as file:
        return int(re.search(r"AnonHugePages: *([0-9]+) kB", file.read())[1])


before = huge()
use_huge_pages()
print(huge() > before, content == [str(n) for n in range(200_000)])
"""


def _can_collapse() -> bool:
    """Return True if the system moves memory to huge pages on request."""
    if sys.platform != "linux" or not os.path.exists("/proc/self/smaps_rollup"):
        return False
    size = 1 << 22
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.write(b"x" * size)
        byte = ctypes.c_char.from_buffer(memory)
        first = -(-ctypes.addressof(byte) >> 21) << 21
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        failed = advise(first, 1 << 21, 25)
        del byte
    return not failed


@pytest.mark.skipif(not _can_collapse(), reason="the system does not move memory to huge pages")
def test_the_memory_of_python_moves_to_huge_pages() -> None:
    ran = subprocess.run([sys.executable, "-c", MOVED], capture_output=True, text=True)
    assert ran.stdout == "True True\n", ran.stderr


def test_another_system_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", None)
    use_huge_pages()
