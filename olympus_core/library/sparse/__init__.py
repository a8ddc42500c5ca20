"""`olympus.experimental.sparse`: sparse arrays, of coordinates or of compressed rows."""
