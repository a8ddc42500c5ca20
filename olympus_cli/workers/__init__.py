"""Work in a separate process: a failure there, even a native crash, affects only that process."""
