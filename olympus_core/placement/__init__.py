"""Meshes of devices, partition specs and shardings."""
