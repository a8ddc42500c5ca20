import olympus as ox
import olympus.numpy as jnp

ox.jit(lambda n: jnp.arange(n))(3)
# ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: it arose in the jnp.arange argument 'stop', which is the argument 'n' of '<lambda>'
# hint: take the size from the shape of an array, such as x.shape[0], or make 'n' static: --static n=8, n = 8 in [target.NAME.static], or static_argnames="n" of olympus.jit; or use a mask
