"""Transformations of traced functions and of programs, one module for each."""
