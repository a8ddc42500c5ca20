"""The forms in which a gate's report is written: one module a form, text from a `GateReport`."""
