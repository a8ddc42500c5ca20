"""The formats of a gate's report: one module for each, which renders a `GateReport` as text."""
