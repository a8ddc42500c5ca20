"""Symbolic sizes, and the manifest of a bundle with such sizes."""
