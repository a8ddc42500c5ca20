olympus cost reshape.onnx
# exit 2
# error: reshape.onnx: node 'flat' (Reshape): operator Reshape needs the value of its input 'shape' to know a shape, and the value is known only when the program runs
# hint: give the value that is part of the program: --static 'shape=[2, 3]'
