"""Builds that start again when a file of the project is saved."""
