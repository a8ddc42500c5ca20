"""Transformations of traced functions and of programs, a file each."""
