"""Clients, arrays, the compiler, executables and the profiler of PJRT."""
