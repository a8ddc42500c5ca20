olympus trace add --shapes 'g32[2]'
# exit 2
# error: no dtype is named 'g32'
#   g32[2]
#   ^
# hint: did you mean u32 or i32 or f32?
