import numpy as np

import olympus

X = np.float32(0.7)

olympus.custom_jvp(lambda x: x)(X)
# UndefinedRuleError: No JVP defined for custom_jvp function <lambda> using defjvp.
