"""Targets by their inputs and their outputs: changed since a revision, built, removed."""
