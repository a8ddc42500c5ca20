"""Functions of `olympus.numpy`, a module for each family."""
