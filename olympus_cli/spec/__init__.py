"""From text to typed, validated objects: shapes, statics and `olympus.toml`."""
