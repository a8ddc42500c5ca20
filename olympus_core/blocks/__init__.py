"""Outlining of repeated blocks into functions that are compiled once."""
