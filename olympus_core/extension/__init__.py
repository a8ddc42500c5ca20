"""The interfaces of JAX for extensions, on the core: primitives and rules of users."""
