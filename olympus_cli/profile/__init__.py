"""Profiles of programs by kernel: as data, a table, a page and a trace file."""
