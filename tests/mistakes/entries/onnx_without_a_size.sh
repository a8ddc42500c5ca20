olympus cost layer.onnx
# exit 2
# error: input 'x' of layer.onnx has the free size 'batch'
# hint: give it: --shapes "batch=8"
