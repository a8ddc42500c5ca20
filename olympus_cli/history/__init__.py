"""What the figures of targets were, run by run: a local file, and what is read from it."""
