"""From text to typed, validated objects: shapes, statics, `olympus.toml` and what commands name."""
