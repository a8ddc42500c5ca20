"""Measuring programs: `measure` repeats calls, `stages` walks a target, `statistics` sums up."""
