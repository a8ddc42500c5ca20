import olympus


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss)({"a": "text"}, 3)
# TransformError: Argument 'text' of type <class 'str'> is not a valid JAX type: grad of 'loss' needs arrays and scalars, and argument w['a'] is a str 'text'
