"""The command line of OLYMPUS; it uses only the public names of `olympus`."""
