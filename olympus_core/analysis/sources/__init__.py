"""The source locations of operations."""
