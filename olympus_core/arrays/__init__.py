"""Arrays on one device and on several, and the mesh that is set."""
