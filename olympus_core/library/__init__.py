"""The array library: functions that users call, written on the primitives."""
