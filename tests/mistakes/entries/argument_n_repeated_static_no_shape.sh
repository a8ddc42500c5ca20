olympus trace model:repeated --shapes 'f32[], i32[]'
# exit 2
# error: argument 'n' of repeated is static, and has no shape
# hint: give its value: --static n=3
