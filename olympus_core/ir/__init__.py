"""The intermediate representation: primitives, Olympusprs, traces, tracers and their checks."""
