"""The history of the figures of targets, run by run: a local file, and queries of it."""
