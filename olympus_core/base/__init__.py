"""Errors, versions, thread-local switches, source locations, pytrees, dtypes and avals."""
