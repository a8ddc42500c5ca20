"""Building: what must be built, compiling it in processes of its own, and putting it in place."""
