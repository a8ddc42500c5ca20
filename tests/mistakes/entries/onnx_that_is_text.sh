olympus cost words.onnx
# exit 5
# error: words.onnx is not an ONNX model: Error parsing message with type 'onnx.ModelProto': Wire format was corrupt
