olympus trace model:add --shapes 'f32[2], f32[], f32[]'
# exit 2
# error: add takes 2 arrays by position; 3 shapes are given
# hint: its arguments are x, y
