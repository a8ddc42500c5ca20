"""The process of a command: imports, signals, streams, memory and exit."""
