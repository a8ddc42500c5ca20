"""Building: `driver` plans and commits, `pool` and `worker` compile, `outputs` writes the files."""
