"""Calls of staged functions, with their cache."""
