"""`jit`, `pmap`, `xla_computation`, the configuration and the calibration of the CPU."""
