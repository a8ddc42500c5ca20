"""Programs of other libraries and formats: each module converts them to and from OLYMPUS."""
