"""Parsers of shapes, statics, `olympus.toml` and the targets that commands name."""
