"""What `olympus verify` does: the references of a target, what is compared, and how it is told."""
