import olympus

olympus.jit(lambda x: x)("text")
# SignatureError: '<lambda>' got a value of type str as its argument [0]: 'text'
# hint: pass an array or a scalar, or mark the argument with static_argnames
