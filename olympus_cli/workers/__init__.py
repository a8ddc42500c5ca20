"""Work in a process of its own: what happens there, a native crash too, happens to that alone."""
