"""Measurements of programs: `Sampler` measures one in a process, `Measured` is the result."""
