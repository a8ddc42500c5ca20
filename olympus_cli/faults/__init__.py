"""Exceptions: whose mistake one is, what to do about it, and its way to another process."""
