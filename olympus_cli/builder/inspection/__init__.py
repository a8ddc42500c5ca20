"""The contents of a build folder and of a stored result, for `olympus inspect`."""
