"""Measuring programs: a `Sampler` has one in a process, `Measured` is what was found of it."""
