"""ONNX models as functions of arrays.

`package`     the import of the package `onnx`
`tensors`     tensors of a file as NumPy arrays, with external data
`model`       a file and its checks: inputs, outputs, parameters
`node_locations`  the locations of operations: numbers and names of nodes
`graph`       the interpretation of a graph, which a trace records
`operators`   the table of operators, one module for each family
"""
