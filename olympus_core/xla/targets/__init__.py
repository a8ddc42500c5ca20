"""Device models, targets and compiler options."""
