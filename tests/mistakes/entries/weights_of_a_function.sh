olympus cost model:add --shapes 'f32[2], f32[2]' --weights arguments
# exit 2
# error: weights is for an ONNX model, and model:add is not one
