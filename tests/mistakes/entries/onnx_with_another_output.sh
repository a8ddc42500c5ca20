olympus cost layer.onnx:hiden:0 --shapes batch=8
# exit 2
# error: layer.onnx has no output 'hiden:0'; it has 'y', 'hidden:0'
# hint: did you mean 'hidden:0'?
