"""A program in its stages, as a bundle, and ready to be called."""
