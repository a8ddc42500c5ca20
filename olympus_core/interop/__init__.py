"""Programs of other libraries: each module converts them to and from OLYMPUS."""
