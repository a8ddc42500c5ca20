"""Elementwise primitives, one module for each kind of function."""
