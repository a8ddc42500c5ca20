"""Bundles as traced functions, which can be lowered and compiled for other targets."""

from olympus_core.interop.bundle_programs import trace_bundle as trace_bundle
