"""Compilation of programs to executables, eager operations and sharded programs."""
