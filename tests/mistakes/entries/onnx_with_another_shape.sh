olympus cost layer.onnx --shapes 'x=f32[8,4]'
# exit 2
# error: input 'x' of layer.onnx has the shape [batch = 8, 3], and got [8, 4]
