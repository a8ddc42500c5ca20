"""The formats of `olympus export`: one module for each kind of output."""
