import olympus

olympus.jit(lambda x: x)("text")
# SignatureError: Error interpreting argument to '<lambda>' as an abstract array. The problematic value is of type <class 'str'> and was passed to the function at path x: 'text'
# hint: pass an array or a scalar, or mark the argument with static_argnames
