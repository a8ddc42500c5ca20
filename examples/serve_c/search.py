"""A search by similarity: the five items whose embeddings are nearest to a query."""

import olympus as ox

jnp = ox.numpy


def search(items, query):
    """Embeddings, float32[n, 64], and one, float32[64], to scores and row numbers of five items."""
    norms = jnp.linalg.norm(items, axis=1) * jnp.linalg.norm(query)
    return ox.lax.top_k(items @ query / jnp.maximum(norms, 1e-12), 5)
