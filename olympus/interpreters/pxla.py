"""The names of a module of JAX that has only private ones."""
