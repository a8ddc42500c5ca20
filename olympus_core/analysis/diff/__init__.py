"""The structural difference of two programs."""
