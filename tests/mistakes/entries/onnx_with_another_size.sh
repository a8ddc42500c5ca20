olympus cost layer.onnx --shapes 'bach=8'
# exit 2
# error: layer.onnx has no input or free size 'bach'
# hint: did you mean batch?
