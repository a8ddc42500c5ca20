"""The options that commands share, their mistakes, and completion in a shell."""
