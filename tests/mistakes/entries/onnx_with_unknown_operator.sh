olympus cost custom.onnx
# exit 2
# error: custom.onnx: node 'n1' (Frobnicate): operator com.acme.Frobnicate of version 1 is not supported
