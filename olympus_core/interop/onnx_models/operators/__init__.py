"""The operators of ONNX on `olympus.numpy` and `olympus.lax`, one module for each family.

`table` has the table and the view of a node that an operator gets; `refused` the operators that
have no form, with the reason. An operator without a row that is a function in ONNX's own schema,
such as `Attention`, is interpreted from that function's body.
"""
