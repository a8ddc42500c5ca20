"""The comparison of measurements against a baseline."""
