"""The measurement of one program."""
