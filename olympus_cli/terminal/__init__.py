"""Output on a terminal; the only importer of rich."""
