"""The search for shardings."""
