"""The build on a farm: the targets of a build run on the workers of a Dask cluster."""
