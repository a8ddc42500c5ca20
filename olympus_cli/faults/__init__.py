"""Exceptions: the code at fault, hints for the user, and transfer to another process."""
