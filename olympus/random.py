"""Random numbers: keys, and samples drawn by them."""
