olympus cost external.onnx
# exit 2
# error: external.onnx: external data 'weights.bin' of tensor 'w' is missing
# hint: the model needs the file .../weights.bin
