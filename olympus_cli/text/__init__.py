"""Paths, units and names as text."""
