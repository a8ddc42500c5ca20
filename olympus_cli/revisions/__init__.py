"""Checkouts of git revisions."""
