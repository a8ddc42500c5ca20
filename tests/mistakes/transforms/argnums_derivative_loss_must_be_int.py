import olympus


def loss(w, n):
    return (w["a"] * n).sum()


olympus.grad(loss, argnums="n")
# TransformError: argnums of the derivative of 'loss' must be an int or a sequence of ints, and is 'n'
