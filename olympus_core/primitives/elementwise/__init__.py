"""Elementwise primitives, a module a kind of function."""
