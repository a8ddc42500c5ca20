import olympus


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss)({"a": "text"}, 3)
# TransformError: grad of 'loss' needs arrays and scalars, and argument 'w'['a'] is a str 'text'
