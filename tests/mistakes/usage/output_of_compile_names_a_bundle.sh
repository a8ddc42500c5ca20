olympus compile model:f --output out/model.olympus
# exit 2
# error: invalid value for '-o' / '--output': the outputs are a folder of files, with the bundle, and 'out/model.olympus' names a bundle; write 'out/model', for example
# hint: ...
