"""A program on its way through the stages, as a bundle, and ready to be called."""
