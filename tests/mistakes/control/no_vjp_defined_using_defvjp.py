import numpy as np

import olympus

X = np.float32(0.7)

olympus.custom_vjp(lambda x: x)(X)
# UndefinedRuleError: No VJP defined for custom_vjp function <lambda> using defvjp.
