"""Builds: find stale targets, compile them in worker processes, and replace their outputs."""
